//! Special registers by their names (PTX ISA chapter 10).

use softwarp_ir::Special;

/// The special register of a name, percent sign included, and a component; `None` for those that are not read.
pub fn find(name: &str, component: u8) -> Option<Special> {
    Some(match name {
        "%tid" => Special::Tid(component),
        "%ntid" => Special::Ntid(component),
        "%ctaid" => Special::Ctaid(component),
        "%nctaid" => Special::Nctaid(component),
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::NwarpId,
        "%smid" => Special::SmId,
        "%nsmid" => Special::NsmId,
        "%gridid" => Special::GridId,
        "%lanemask_eq" => Special::LanemaskEq,
        "%lanemask_le" => Special::LanemaskLe,
        "%lanemask_lt" => Special::LanemaskLt,
        "%lanemask_ge" => Special::LanemaskGe,
        "%lanemask_gt" => Special::LanemaskGt,
        "%clock" => Special::Clock,
        "%clock_hi" => Special::ClockHi,
        "%clock64" => Special::Clock64,
        "%globaltimer" => Special::GlobalTimer,
        "%globaltimer_lo" => Special::GlobalTimerLo,
        "%globaltimer_hi" => Special::GlobalTimerHi,
        "%total_smem_size" => Special::TotalSmemSize,
        "%aggr_smem_size" => Special::AggrSmemSize,
        "%dynamic_smem_size" => Special::DynamicSmemSize,
        "%reserved_smem_offset_begin" => Special::ReservedSmem(0),
        "%reserved_smem_offset_end" => Special::ReservedSmem(1),
        "%reserved_smem_offset_cap" => Special::ReservedSmem(2),
        "%reserved_smem_offset_0" => Special::ReservedSmem(3),
        "%reserved_smem_offset_1" => Special::ReservedSmem(4),
        "%clusterid" => Special::ClusterId(component),
        "%nclusterid" => Special::NclusterId(component),
        "%cluster_ctaid" => Special::ClusterCtaid(component),
        "%cluster_nctaid" => Special::ClusterNctaid(component),
        "%cluster_ctarank" => Special::ClusterCtarank,
        "%cluster_nctarank" => Special::ClusterNctarank,
        "%is_explicit_cluster" => Special::IsExplicitCluster,
        "%current_graph_exec" => Special::CurrentGraphExec,
        _ => return numbered(name),
    })
}

fn numbered(name: &str) -> Option<Special> {
    if let Some(number) = name.strip_prefix("%envreg") {
        return number.parse().ok().map(Special::EnvReg);
    }
    let number = name.strip_prefix("%pm")?;
    match number.strip_suffix("_64") {
        Some(number) => number.parse::<u8>().ok().map(|number| Special::Pm(8 + number)),
        None => number.parse().ok().map(Special::Pm),
    }
}
