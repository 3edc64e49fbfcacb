//! How far to follow ptxas where it changes what a program computes: options that commands share.

use clap::ValueEnum;
use softwarp::lower::Fidelity;

/// How far to follow ptxas.
#[derive(Debug, clap::Args)]
pub struct FidelityArgs {
    /// Compute as the assembler makes programs compute (contracted multiply-adds, a lost .sat), or as the manual says
    #[arg(long, value_enum, value_name = "WHOSE", default_value = "ptxas")]
    fidelity: Whose,
    /// Whether a product and a sum become one fused multiply-add, as in ptxas: true or false
    #[arg(long, value_name = "BOOL")]
    fmad: Option<bool>,
}

/// Whether to follow ptxas or the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Whose {
    Ptxas,
    Manual,
}

impl FidelityArgs {
    /// Whether something else than usual is asked for.
    pub fn is_given(&self) -> bool {
        self.fidelity != Whose::Ptxas || self.fmad.is_some()
    }

    /// What lowering is to do. `told` is what a cubin or fat binary says about `-fmad`.
    pub fn fidelity(&self, told: Option<bool>) -> Fidelity {
        let fidelity = match self.fidelity {
            Whose::Ptxas => Fidelity::PTXAS,
            Whose::Manual => Fidelity::MANUAL,
        };
        Fidelity { contraction: self.fmad.or(told).unwrap_or(fidelity.contraction), ..fidelity }
    }
}
