//! Performance-tuning and cluster directives of a kernel, and launches that they rule out (PTX ISA sections 11.4, 11.7 and 11.8).

use crate::launch::{ClusterError, LaunchError};
use softwarp_isa::Target;
use softwarp_syntax::Module;
use softwarp_syntax::tree::Function;

/// The directives of a kernel that restrict its launches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tuning {
    /// `.reqntid`
    pub block: Option<[u32; 3]>,
    /// `.maxntid`: the product.
    pub most_threads: Option<u64>,
    /// `.maxnreg`
    pub most_registers: Option<u64>,
    /// `.reqnctapercluster`
    pub cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`
    pub most_ctas: Option<u64>,
    /// `.explicitcluster`
    pub explicit: bool,
    /// `.blocksareclusters`
    pub blocks_are_clusters: bool,
}

impl Tuning {
    /// The directives of a kernel.
    pub fn of(module: &Module, kernel: &Function) -> Tuning {
        let mut tuning = Tuning::default();
        for directive in &kernel.directives {
            let arguments = &directive.is.arguments;
            let number = |index: usize| arguments.get(index).map_or(1, |argument| argument.is);
            let sizes = || std::array::from_fn(|axis| u32::try_from(number(axis)).unwrap_or(u32::MAX));
            match module.name(directive.is.word.symbol) {
                "reqntid" => tuning.block = Some(sizes()),
                "maxntid" => tuning.most_threads = Some((0..3).map(number).fold(1, u64::saturating_mul)),
                "maxnreg" => tuning.most_registers = Some(number(0)),
                "reqnctapercluster" => tuning.cluster = Some(sizes()),
                "maxclusterrank" => tuning.most_ctas = Some(number(0)),
                "explicitcluster" => tuning.explicit = true,
                "blocksareclusters" => tuning.blocks_are_clusters = true,
                _ => {}
            }
        }
        tuning
    }

    /// Whether CTAs may have these dimensions.
    pub(crate) fn check_block(&self, block: [u32; 3]) -> Result<(), LaunchError> {
        if let Some(wanted) = self.block.filter(|wanted| *wanted != block) {
            return Err(LaunchError::Block { given: block, wanted });
        }
        let given = block.iter().map(|&size| u64::from(size)).product();
        match self.most_threads {
            Some(most) if given > most => Err(LaunchError::Threads { given, most }),
            _ => Ok(()),
        }
    }

    /// The grid in CTAs, and its clusters, if it has any: those that the launch asks for, or else the kernel.
    pub(crate) fn clusters(
        &self,
        grid: [u32; 3],
        given: Option<[u32; 3]>,
        arch: Target,
    ) -> Result<([u32; 3], Option<[u32; 3]>), ClusterError> {
        if let (Some(given), Some(wanted)) = (given, self.cluster)
            && given != wanted
        {
            return Err(ClusterError::Differs { given, wanted });
        }
        let Some(cluster) = given.or(self.cluster) else {
            return if self.explicit { Err(ClusterError::Missing) } else { Ok((grid, None)) };
        };
        let hardware = u64::from(arch.properties().cluster_ctas);
        if hardware == 0 {
            return Err(ClusterError::Target(arch));
        }
        if cluster.contains(&0) {
            return Err(ClusterError::Empty { cluster });
        }
        let ctas = cluster.iter().map(|&size| u64::from(size)).fold(1, u64::saturating_mul);
        let most = self.most_ctas.unwrap_or(hardware).min(hardware);
        if ctas > most {
            return Err(ClusterError::TooMany { given: ctas, most });
        }
        let grid = match self.blocks_are_clusters {
            true => std::array::from_fn(|axis| grid[axis].saturating_mul(cluster[axis])),
            false => grid,
        };
        if (0..3).any(|axis| !grid[axis].is_multiple_of(cluster[axis])) {
            return Err(ClusterError::Grid { grid, cluster });
        }
        Ok((grid, Some(cluster)))
    }
}
