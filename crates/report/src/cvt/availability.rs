//! Whether a form is legal on a target and in a version of PTX, in words.

use softwarp::isa::{CvtForm, Target, Version};

/// Where a form is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The GPU.
    pub target: Option<Target>,
    /// The version of PTX.
    pub ptx: Option<Version>,
}

/// The answer.
#[derive(Debug)]
pub struct Verdict {
    /// What was asked.
    pub question: Question,
    /// `None` if nothing was asked.
    pub legal: Option<bool>,
    /// The first version that has it on the target asked about.
    pub since: Option<Version>,
    /// The answer in words; without a question, where the form exists.
    pub words: String,
    /// The form.
    pub form: CvtForm,
}

/// Answers the question.
pub fn answer(form: CvtForm, question: Question) -> Verdict {
    let everywhere = form.availability_in_words();
    let (legal, since, words) = match (question.target, question.ptx) {
        (None, None) => (None, None, everywhere),
        (Some(target), None) => match form.min_version(target) {
            Some(since) => (Some(true), Some(since), format!("legal on {target} since PTX {since}")),
            None => (Some(false), None, format!("not legal on {target}: it exists on {everywhere}")),
        },
        (None, Some(ptx)) => {
            let has = |target: &Target| {
                target.exists_in(ptx) && form.min_version(*target).is_some_and(|since| since <= ptx)
            };
            let targets: Vec<&str> = Target::all().filter(has).map(Target::name).collect();
            if targets.is_empty() {
                (Some(false), None, format!("not legal in PTX {ptx}: it exists on {everywhere}"))
            } else {
                (Some(true), None, format!("legal in PTX {ptx} on {}", targets.join(", ")))
            }
        }
        (Some(target), Some(ptx)) => {
            let since = form.min_version(target);
            let (legal, words) = on_target(target, ptx, since, &everywhere);
            (Some(legal), since, words)
        }
    };
    Verdict { question, legal, since, words, form }
}

fn on_target(target: Target, ptx: Version, since: Option<Version>, everywhere: &str) -> (bool, String) {
    match since {
        None => (false, format!("not legal on {target}: it exists on {everywhere}")),
        Some(_) if ptx < target.introduced() => {
            let came = target.introduced();
            (false, format!("not legal on {target} in PTX {ptx}: the target came with PTX {came}"))
        }
        Some(_) if !target.exists_in(ptx) => {
            let now = target.renamed().map(|(since, now)| format!(": it is {now} since PTX {since}"));
            (false, format!("not legal on {target} in PTX {ptx}{}", now.unwrap_or_default()))
        }
        Some(since) if ptx < since => {
            (false, format!("not legal on {target} in PTX {ptx}: it came with PTX {since}"))
        }
        Some(since) => (true, format!("legal on {target} in PTX {ptx}, since PTX {since}")),
    }
}
