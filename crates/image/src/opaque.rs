//! What an opaque variable says before the host binds anything to it: the members of Tables 10 and 11 that its
//! initialiser gives (PTX ISA section 5.3).
//!
//! There are no defaults here, since the manual has none: it leaves `normalized_coords` to the runtime, which
//! follows the source language (section 5.3.2), and says nothing of the others. Sizes and channels come from
//! what the host binds.

use crate::image::Object;
use softwarp_check::checked::FieldValue;
use softwarp_isa::space::opaque::{Member, Opaque, Standing, TextureMode};

/// The members of one opaque variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    members: Vec<(Member, Option<FieldValue>)>,
}

impl State {
    /// Of an element of an object (0 unless it is an array), in a module's texture mode; `None` if it is not
    /// opaque. The last of several values for a member counts.
    pub fn of(object: &Object, element: u64, mode: TextureMode) -> Option<State> {
        let opaque = object.opaque()?;
        // There are no samplers in the unified mode, yet the assembler takes them.
        let mode = if opaque == Opaque::Samplerref { TextureMode::Independent } else { mode };
        let mut members: Vec<(Member, Option<FieldValue>)> = Member::all()
            .filter(|member| member.on(opaque, mode) == Standing::Counts)
            .map(|member| (member, None))
            .collect();
        for field in object.fields.iter().filter(|field| field.element == element) {
            if let Some((_, value)) = members.iter_mut().find(|(member, _)| *member == field.member) {
                *value = Some(field.value);
            }
        }
        Some(State { members })
    }

    /// What a member was given; `None` if it was not, or does not count on this type and in this mode.
    pub fn get(&self, member: Member) -> Option<FieldValue> {
        self.members.iter().find(|(known, _)| *known == member).and_then(|(_, value)| *value)
    }

    /// The members that were given and count, in the order of the tables.
    pub fn members(&self) -> impl Iterator<Item = (Member, FieldValue)> {
        self.members.iter().filter_map(|(member, value)| Some((*member, (*value)?)))
    }

    /// The members that count but were not given: what the host binds says, or the runtime.
    pub fn unset(&self) -> impl Iterator<Item = Member> {
        self.members.iter().filter(|(_, value)| value.is_none()).map(|(member, _)| *member)
    }
}
