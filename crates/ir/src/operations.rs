//! The declaration of every operation that is no arithmetic: its name, its operands and its properties.
//!
//! An operation is declared once, in a line of [`operations!`]: the variant, the structure of its operands, which of
//! these are written, read or immediate, its name, and its properties. From it come the enumeration, the visitor over
//! slots, the printer, the properties and the table in `docs/ir.md`. A field that is not listed is a compile error.

use crate::asynchronous::{
    Bulk, CopyArrive, CopyAsync, CopyMap, MbarrierArrive, MbarrierCheckLayout, MbarrierInit, MbarrierInval,
    MbarrierTx, MbarrierWait, PendingCount, ReduceAsync, ReplaceField, StoreAsync, TensorCopy, ZeroBulk,
};
use crate::cluster::{ClusterArrive, CtaRank, FirstCta, IsCancelled, IsOwnShared, MapShared, TryCancel};
use crate::control::{Alloca, Call, FrameAddress, ReadSpecial, StackRestore, StackSave, Switch};
use crate::group::GroupOp;
use crate::input::{Input, Parsed};
use crate::list::Operands;
use crate::matrix::{FragmentLoad, FragmentStore, LoadMatrix, Mma, StoreMatrix, Transpose, Wgmma};
use crate::multimem::MultimemOp;
use crate::operand::{List, Operand, Part, Role};
use crate::properties::Properties;
use crate::tensor_core::{
    TensorAlloc, TensorCommit, TensorCopyIn, TensorDealloc, TensorFence, TensorLoad, TensorMma,
    TensorRelinquish, TensorShift, TensorStore, TensorWait,
};
use crate::texture::{IsType, Lookup, Query, SurfaceOp};
use crate::{Access, Atomic, Barrier, Fence, Slot, WarpOp};
use std::fmt;

/// An operation of the table.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    /// Its name, as [`Step`] prints it.
    pub name: &'static str,
    /// The PTX instructions that it stands for.
    pub instructions: &'static str,
    /// The operands that it writes.
    pub writes: &'static [&'static str],
    /// The operands that it reads.
    pub reads: &'static [&'static str],
    /// Its immediate operands.
    pub immediates: &'static [&'static str],
    /// Its properties; those in parentheses depend on the operands.
    pub properties: &'static [&'static str],
}

macro_rules! operations {
    (
        $(#[$meta:meta])*
        pub enum $enum:ident {
            $(
                #[doc = $doc:literal]
                $variant:ident $( ( $payload:ident { $( $role:ident $field:ident ),* $(,)? } ) )?
                $name:literal [ $( $property:ident $( ( $condition:expr ) )? ),* ];
            )*
            $( group $(#[doc = $group_doc:literal])* $group:ident ( $inner:ident ) )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub enum $enum {
            $( #[doc = $doc] $variant $( ($payload) )?, )*
            $( $(#[doc = $group_doc])* $group($inner), )*
        }

        impl $enum {
            /// Its name.
            pub fn name(&self) -> &'static str {
                match self {
                    $( Self::$variant $( ($payload { .. }) )? => $name, )*
                    $( Self::$group(op) => op.name(), )*
                }
            }

            /// What it does besides computing.
            #[inline]
            #[allow(unused_variables, reason = "few properties depend on operands")]
            pub fn properties(&self) -> Properties {
                let mut properties = Properties::default();
                match self {
                    $(
                        Self::$variant $( ($payload { $( $field ),* }) )? => {
                            $( properties.$property = true $( && $condition )?; )*
                        }
                    )*
                    $( Self::$group(op) => return op.properties(), )*
                }
                properties
            }

            /// Shows every slot, those that are read first.
            #[allow(unused_variables, reason = "immediate operands have no slots")]
            pub fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Role)) {
                match self {
                    $(
                        Self::$variant $( ($payload { $( $field ),* }) )? => {
                            $( $( operations!(@visit read $role $field f); )* )?
                            $( $( operations!(@visit write $role $field f); )* )?
                        }
                    )*
                    $( Self::$group(op) => op.visit(f), )*
                }
            }

            /// Prints what is written.
            #[allow(unused_variables, reason = "other operands")]
            pub(crate) fn print_writes(&self, out: &mut List<'_, '_>) -> fmt::Result {
                match self {
                    $(
                        Self::$variant $( ($payload { $( $field ),* }) )? => {
                            $( $( operations!(@print write $role $field out); )* )?
                            Ok(())
                        }
                    )*
                    $( Self::$group(op) => op.print_writes(out), )*
                }
            }

            /// Prints what is read, and immediate operands.
            #[allow(unused_variables, reason = "other operands")]
            pub(crate) fn print_reads(&self, out: &mut List<'_, '_>) -> fmt::Result {
                match self {
                    $(
                        Self::$variant $( ($payload { $( $field ),* }) )? => {
                            $( $( operations!(@print read $role $field out); )* )?
                            $( $( operations!(@print imm $role $field out); )* )?
                            Ok(())
                        }
                    )*
                    $( Self::$group(op) => op.print_reads(out), )*
                }
            }

            /// Reads an operation by its name: what it writes, and what it reads with immediate operands. None if it
            /// has none of these names.
            #[allow(unused_mut, reason = "operations without operands")]
            pub(crate) fn parse(
                name: &str,
                writes: &mut Input<'_>,
                reads: &mut Input<'_>,
            ) -> Option<Parsed<Self>> {
                $(
                    if name == $name {
                        const NAMES: &[&str] = &[ $( $( operations!(@listed imm $role $field) ),* )? ];
                        let mut parse = || -> Parsed<Self> {
                            let mut written = Operands::new(writes, &[]);
                            $( $( operations!(@parse write $role $field written); )* )?
                            written.named()?.finish()?;
                            let mut read = Operands::new(reads, NAMES);
                            $( $( operations!(@parse read $role $field read); )* )?
                            let mut named = read.named()?;
                            $( $( operations!(@parse imm $role $field named); )* )?
                            named.finish()?;
                            Ok(Self::$variant $( ($payload { $( $field ),* }) )?)
                        };
                        return Some(parse());
                    }
                )*
                $(
                    if let Some(op) = operations!(@group $inner name writes reads) {
                        return Some(op.map(Self::$group));
                    }
                )*
                None
            }

            /// Every operation, without those of groups.
            pub const TABLE: &[Declared] = &[ $( Declared {
                name: $name,
                instructions: $doc,
                writes: &[ $( $( operations!(@listed write $role $field) ),* )? ],
                reads: &[ $( $( operations!(@listed read $role $field) ),* )? ],
                immediates: &[ $( $( operations!(@listed imm $role $field) ),* )? ],
                properties: &[ $( operations!(@property $property $( $condition )?) ),* ],
            } ),* ];
        }
    };
    (@visit read read $field:ident $f:ident) => {
        Operand::visit($field, &mut |slot, part: Part| $f(slot, part.read()))
    };
    (@visit write write $field:ident $f:ident) => {
        Operand::visit($field, &mut |slot, _| $f(slot, Role::Write))
    };
    (@visit $pass:ident $role:ident $field:ident $f:ident) => {};
    (@print read read $field:ident $out:ident) => {
        $out.operand($field)?
    };
    (@print write write $field:ident $out:ident) => {
        $out.operand($field)?
    };
    (@parse write write $field:ident $from:ident) => { let $field = $from.next()?; };
    (@parse read read $field:ident $from:ident) => { let $field = $from.next()?; };
    (@parse imm imm $field:ident $from:ident) => { let $field = $from.take(stringify!($field))?; };
    (@parse $pass:ident $role:ident $field:ident $from:ident) => {};
    (@group GroupOp $name:ident $writes:ident $reads:ident) => { GroupOp::parse($name, $reads) };
    (@group $inner:ident $name:ident $writes:ident $reads:ident) => { $inner::parse($name, $writes, $reads) };
    (@print imm imm $field:ident $out:ident) => {
        $out.immediate(stringify!($field), $field)?
    };
    (@print $pass:ident $role:ident $field:ident $out:ident) => {};
    (@listed read read $field:ident) => { stringify!($field) };
    (@listed write write $field:ident) => { stringify!($field) };
    (@listed imm imm $field:ident) => { stringify!($field) };
    (@listed $pass:ident $role:ident $field:ident) => { "" };
    (@property $property:ident) => { stringify!($property) };
    (@property $property:ident $condition:expr) => { concat!("(", stringify!($property), ")") };
}

operations! {
    /// An operation that needs more than the frame of a warp.
    pub enum Step {
        #[doc = "`ret`"]
        Return "ret" [];
        #[doc = "`exit`"]
        Exit "exit" [progress];
        #[doc = "`trap`"]
        Trap "trap" [faults, progress];
        #[doc = "`brkpt`"]
        Breakpoint "brkpt" [faults, progress];
        #[doc = "`nanosleep`"]
        Yield "yield" [waits];
        #[doc = "`brx.idx`"]
        Switch(Switch { read index, imm targets }) "switch" [faults];
        #[doc = "`call`"]
        Call(Call { read callee, imm inputs, imm outputs }) "call" [memory, faults, progress(callee.is_provided())];
        #[doc = "special registers"]
        Special(ReadSpecial { write d, imm register }) "special" [progress(register.is_clock())];
        #[doc = "addresses of `.local` variables"]
        FrameAddress(FrameAddress { write d, imm offset }) "frame_address" [];
        #[doc = "`alloca`"]
        Alloca(Alloca { write d, read size, imm alignment }) "alloca" [faults];
        #[doc = "`stacksave`"]
        StackSave(StackSave { write d }) "stacksave" [];
        #[doc = "`stackrestore`"]
        StackRestore(StackRestore { read a }) "stackrestore" [];
        #[doc = "`ld`, `ldu`"]
        Load(Access { write registers, read address, imm bytes, imm signed, imm order })
            "ld" [memory, faults, progress(order.is_strong())];
        #[doc = "`st`"]
        Store(Access { read address, read registers, imm bytes, imm signed, imm order })
            "st" [memory, faults, progress(order.is_strong())];
        #[doc = "`atom`, `red`"]
        Atomic(Atomic { write d, read address, read b, read c, imm op, imm ty, imm order, imm noftz })
            "atom" [memory, faults, progress];
        #[doc = "`membar`, `fence`"]
        Fence(Fence { imm order, imm mbarrier_init }) "fence" [];
        #[doc = "`bar`, `barrier`"]
        Barrier(Barrier { write d, read number, read count, read predicate, imm op, imm aligned })
            "barrier" [waits, faults, collective(*aligned), progress];
        #[doc = "`shfl`, `vote`, `match`, `redux`, `activemask`, `elect`, `bar.warp.sync`"]
        Warp(WarpOp { write d, write p, read members, read s, imm op, imm negated })
            "warp" [waits, collective(members.is_none()), lanes];
        #[doc = "`multimem.ld_reduce`, `multimem.st`, `multimem.red`"]
        Multimem(MultimemOp { write d, read address, read data, imm kind, imm ty, imm accumulates_f32, imm order })
            "multimem" [memory, faults, progress];
        group
            /// Groups of asynchronous operations, and fences for them.
            Group(GroupOp)
        group
            /// Textures and surfaces.
            Texture(TextureOp)
        group
            /// CTAs of a cluster.
            Cluster(ClusterOp)
        group
            /// Asynchronous copies and mbarriers.
            Asynchronous(AsyncOp)
        group
            /// Matrices that a warp holds together.
            Matrix(MatrixOp)
        group
            /// Tensor memory.
            TensorCore(TensorCoreOp)
    }
}

operations! {
    /// An operation of textures or surfaces.
    pub enum TextureOp {
        #[doc = "`tex`, `tld4`"]
        Lookup(Lookup {
            write d, write resident, read texture, read sampler, read coordinates, read detail, read offsets,
            imm geometry, imm integers, imm gather, imm values,
        }) "tex" [memory, faults, progress, lanes];
        #[doc = "`txq`, `suq`"]
        Query(Query { write d, read handle, read level, imm member, imm of }) "txq" [faults, progress, lanes];
        #[doc = "`istypep`"]
        IsType(IsType { write d, read pointer, imm opaque }) "istypep" [progress, lanes];
        #[doc = "`suld`, `sust`, `sured`"]
        Surface(SurfaceOp {
            write d, read surface, read coordinates, read data, imm access, imm geometry, imm clamp, imm bytes,
        }) "surface" [memory, faults, progress, lanes];
    }
}

operations! {
    /// An operation among the CTAs of a cluster.
    pub enum ClusterOp {
        #[doc = "`barrier.cluster.arrive`"]
        Arrive(ClusterArrive { imm relaxed }) "cluster.arrive" [collective, progress, lanes];
        #[doc = "`barrier.cluster.wait`"]
        Wait "cluster.wait" [waits, collective, progress, lanes];
        #[doc = "`mapa`"]
        Map(MapShared { write d, read address, read rank, imm generic }) "mapa" [faults, progress, lanes];
        #[doc = "`getctarank`"]
        Rank(CtaRank { write d, read address, imm generic }) "getctarank" [progress, lanes];
        #[doc = "`isspacep.shared::cta`"]
        IsOwn(IsOwnShared { write d, read address }) "is_own_shared" [progress, lanes];
        #[doc = "`clusterlaunchcontrol.try_cancel`"]
        TryCancel(TryCancel { read response, read mbarrier, imm multicast })
            "try_cancel" [memory, faults, progress, lanes];
        #[doc = "`clusterlaunchcontrol.query_cancel.is_canceled`"]
        IsCancelled(IsCancelled { write d, read response }) "is_canceled" [progress, lanes];
        #[doc = "`clusterlaunchcontrol.query_cancel.get_first_ctaid`"]
        FirstCta(FirstCta { write d, read response, imm from }) "get_first_ctaid" [progress, lanes];
    }
}

operations! {
    /// An asynchronous copy, or an operation on an mbarrier.
    pub enum AsyncOp {
        #[doc = "`mbarrier.init`"]
        MbarrierInit(MbarrierInit { read mbarrier, read count, imm second_layout })
            "mbarrier.init" [memory, faults, progress, lanes];
        #[doc = "`mbarrier.inval`"]
        MbarrierInval(MbarrierInval { read mbarrier }) "mbarrier.inval" [memory, faults, progress, lanes];
        #[doc = "`mbarrier.expect_tx`, `mbarrier.complete_tx`"]
        MbarrierTx(MbarrierTx { read mbarrier, read bytes, read multicast, imm complete })
            "mbarrier.tx" [memory, faults, progress, lanes];
        #[doc = "`mbarrier.arrive`, `mbarrier.arrive_drop`"]
        MbarrierArrive(MbarrierArrive {
            write d, read mbarrier, read count, read multicast, imm drop, imm expect, imm single, imm order,
        }) "mbarrier.arrive" [memory, faults, progress, lanes];
        #[doc = "`mbarrier.test_wait`, `mbarrier.try_wait`"]
        MbarrierWait(MbarrierWait {
            write d, write second, write report, read mbarrier, read phase, imm parity, imm order,
        }) "mbarrier.wait" [memory, waits, faults, lanes];
        #[doc = "`mbarrier.check_layout`"]
        MbarrierCheckLayout(MbarrierCheckLayout { write d, read mbarrier, imm second_layout })
            "mbarrier.check_layout" [memory, faults, progress, lanes];
        #[doc = "`mbarrier.pending_count`"]
        PendingCount(PendingCount { write d, read state }) "mbarrier.pending_count" [progress, lanes];
        #[doc = "`cp.async`"]
        Copy(CopyAsync { read to, read from, read choice, imm bytes })
            "cp.async" [memory, faults, progress, lanes];
        #[doc = "`cp.async.mbarrier.arrive`"]
        CopyArrive(CopyArrive { read mbarrier, imm noinc })
            "cp.async.mbarrier.arrive" [memory, faults, progress, lanes];
        #[doc = "`cp.async.bulk`, `cp.reduce.async.bulk`"]
        Bulk(Bulk {
            read to, read from, read size, read ignore, read mbarrier, read multicast, read mask, imm reduction,
            imm multimem,
        }) "cp.async.bulk" [memory, faults, progress, lanes];
        #[doc = "`st.async`"]
        Store(StoreAsync { read to, read mbarrier, read data, imm bytes })
            "st.async" [memory, faults, progress, lanes];
        #[doc = "`red.async`"]
        Reduce(ReduceAsync { read to, read mbarrier, read b, imm op, imm ty })
            "red.async" [memory, faults, progress, lanes];
        #[doc = "`st.bulk`"]
        Zero(ZeroBulk { read to, read size }) "st.bulk" [memory, faults, progress, lanes];
        #[doc = "`cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`, `cp.async.bulk.prefetch.tensor`"]
        Tensor(TensorCopy {
            read map, read shared, read mbarrier, read coordinates, read offsets, read multicast, imm pair, imm mode,
            imm way, imm rank,
        }) "cp.async.bulk.tensor" [memory, faults, progress, lanes];
        #[doc = "`tensormap.replace`"]
        Replace(ReplaceField { read map, read value, imm field, imm ordinal })
            "tensormap.replace" [memory, faults, progress, lanes];
        #[doc = "`tensormap.cp_fenceproxy`"]
        CopyMap(CopyMap { read to, read from }) "tensormap.cp_fenceproxy" [memory, faults, progress, lanes];
    }
}

operations! {
    /// An operation on matrices that a warp holds together.
    pub enum MatrixOp {
        #[doc = "`ldmatrix`"]
        Load(LoadMatrix { write d, read row, imm tiles }) "ldmatrix" [memory, faults, collective, progress, lanes];
        #[doc = "`stmatrix`"]
        Store(StoreMatrix { read row, read data, imm tiles })
            "stmatrix" [memory, faults, collective, progress, lanes];
        #[doc = "`movmatrix`"]
        Transpose(Transpose { write d, read a }) "movmatrix" [collective, progress, lanes];
        #[doc = "`wmma.load`"]
        FragmentLoad(FragmentLoad { write d, read address, read stride, imm memory })
            "wmma.load" [memory, faults, collective, progress, lanes];
        #[doc = "`wmma.store`"]
        FragmentStore(FragmentStore { read address, read data, read stride, imm memory })
            "wmma.store" [memory, faults, collective, progress, lanes];
        #[doc = "`mma`, `wmma.mma`"]
        Mma(Mma { write d, read a, read b, read c, read metadata, read scales, imm product })
            "mma" [collective, progress, lanes];
        #[doc = "`wgmma.mma_async`"]
        Wgmma(Wgmma { write d, read c, read a, read b, read metadata, read adds, imm product })
            "wgmma" [memory, faults, collective, progress, lanes];
    }
}

operations! {
    /// An operation on tensor memory.
    pub enum TensorCoreOp {
        #[doc = "`tcgen05.alloc`"]
        Alloc(TensorAlloc { read to, read columns, imm ctas })
            "tensor.alloc" [memory, waits, faults, collective, lanes];
        #[doc = "`tcgen05.dealloc`"]
        Dealloc(TensorDealloc { read address, read columns, imm ctas })
            "tensor.dealloc" [waits, faults, collective, lanes];
        #[doc = "`tcgen05.relinquish_alloc_permit`"]
        Relinquish(TensorRelinquish { imm ctas }) "tensor.relinquish" [waits, faults, collective, lanes];
        #[doc = "`tcgen05.ld`"]
        Load(TensorLoad { write d, write reduced, read address, imm fragment, imm split, imm reduction })
            "tensor.ld" [memory, faults, collective, progress, lanes];
        #[doc = "`tcgen05.st`"]
        Store(TensorStore { read address, read data, imm fragment, imm split })
            "tensor.st" [memory, faults, collective, progress, lanes];
        #[doc = "`tcgen05.wait`"]
        Wait(TensorWait { imm loads }) "tensor.wait" [collective, progress, lanes];
        #[doc = "`tcgen05.fence`"]
        Fence(TensorFence { imm before }) "tensor.fence" [progress, lanes];
        #[doc = "`tcgen05.commit`"]
        Commit(TensorCommit { read mbarrier, read multicast, imm ctas })
            "tensor.commit" [memory, faults, progress, lanes];
        #[doc = "`tcgen05.cp`"]
        Copy(TensorCopyIn { read to, read from, imm shape, imm packing, imm ctas })
            "tensor.cp" [memory, faults, progress, lanes];
        #[doc = "`tcgen05.shift`"]
        Shift(TensorShift { read address, imm ctas }) "tensor.shift" [memory, faults, progress, lanes];
        #[doc = "`tcgen05.mma`"]
        Mma(TensorMma {
            read d, read a, read b, read metadata, read instruction, read scales, read disabled, read adds, read mask,
            imm modifiers, imm scale_d,
        }) "tensor.mma" [memory, faults, progress, lanes];
    }
}

impl Step {
    /// Whether all lanes of a warp execute it together, and it does not wait for missing lanes by itself.
    #[inline]
    pub fn is_collective(&self) -> bool {
        self.properties().collective
    }

    /// Where it may branch to.
    pub fn targets(&self) -> &[u32] {
        match self {
            Step::Switch(switch) => &switch.targets,
            Step::Return | Step::Exit | Step::Trap | Step::Breakpoint | Step::Yield | Step::Call(_) => &[],
            Step::Special(_) | Step::FrameAddress(_) | Step::Alloca(_) | Step::StackSave(_) => &[],
            Step::StackRestore(_) | Step::Load(_) | Step::Store(_) | Step::Atomic(_) | Step::Fence(_) => &[],
            Step::Barrier(_) | Step::Warp(_) | Step::Multimem(_) | Step::Group(_) | Step::Texture(_) => &[],
            Step::Cluster(_) | Step::Asynchronous(_) | Step::Matrix(_) | Step::TensorCore(_) => &[],
        }
    }

    /// Whether lanes that execute it do not continue with the next operation.
    pub fn ends_block(&self) -> bool {
        match self {
            Step::Return | Step::Exit | Step::Trap | Step::Switch(_) => true,
            Step::Breakpoint | Step::Yield | Step::Call(_) | Step::Special(_) | Step::FrameAddress(_) => {
                false
            }
            Step::Alloca(_) | Step::StackSave(_) | Step::StackRestore(_) | Step::Load(_) => false,
            Step::Store(_) | Step::Atomic(_) | Step::Fence(_) | Step::Barrier(_) | Step::Warp(_) => false,
            Step::Multimem(_) | Step::Group(_) | Step::Texture(_) | Step::Cluster(_) => false,
            Step::Asynchronous(_) | Step::Matrix(_) | Step::TensorCore(_) => false,
        }
    }

    /// Whether other threads may react to it.
    #[inline]
    pub fn makes_progress(&self) -> bool {
        self.properties().progress
    }
}

/// The operations that are not arithmetic, by subject.
pub const TABLES: [(&str, &[Declared]); 6] = [
    ("Control flow, memory and collectives", Step::TABLE),
    ("Textures and surfaces", TextureOp::TABLE),
    ("Clusters", ClusterOp::TABLE),
    ("Asynchronous copies and mbarriers", AsyncOp::TABLE),
    ("Matrices", MatrixOp::TABLE),
    ("Tensor memory", TensorCoreOp::TABLE),
];

impl fmt::Display for Step {
    /// `d1, d2 = name operands`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut writes = List::at_start(f);
        self.print_writes(&mut writes)?;
        if writes.any {
            f.write_str(" = ")?;
        }
        f.write_str(self.name())?;
        self.print_reads(&mut List::behind_name(f))
    }
}
