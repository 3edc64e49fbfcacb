//! Directions to faces of a cube (PTX ISA section 9.7.10.3, `tex.cube`).
//!
//! As the assembler and an H200 do it together: the direction is multiplied by the approximate reciprocal of its largest
//! component, which leaves that one at about 1; the others, halved and moved to 0 to 1, are coordinates on the face.
//! Of equal components z counts before y and y before x.

use super::level::Gradients;
use super::short::Short;
use crate::alu::approx::reciprocal;

/// A direction, as long as the cube allows.
#[derive(Clone, Copy, Debug)]
struct Ray {
    /// The largest component, about 1, and where on its face. NaN is 0.
    at: [f32; 3],
    /// The face that it meets: x, -x, y, -y, z, -z.
    face: u32,
}

impl Ray {
    fn new(direction: [f32; 3]) -> Ray {
        let largest = direction.iter().fold(0f32, |most, part| most.max(part.abs()));
        let scale = f32::from_bits(reciprocal(largest, true));
        let at = direction.map(|part| part * scale);
        // NaN is less than anything.
        let [x, y, z] = at.map(|part| if part.is_nan() { -1.0 } else { part.abs() });
        let axis = if z >= x && z >= y { 2 } else { usize::from(y >= x) };
        let face = 2 * axis as u32 + u32::from(at[axis] < 0.0);
        Ray { at: at.map(|part| if part.is_nan() { 0.0 } else { part }), face }
    }

    /// The axis of its face.
    fn axis(&self) -> usize {
        self.face as usize / 2
    }

    /// A component towards a face.
    fn toward(&self, face: u32) -> f32 {
        let part = self.at[face as usize / 2];
        if face & 1 == 1 { -part } else { part }
    }
}

/// The face that a direction points to, and where on it, from 0 to 1.
#[inline]
pub fn project(direction: [f32; 3]) -> (u32, [f32; 2]) {
    let Ray { at: [x, y, z], face } = Ray::new(direction);
    let (s, t) = match face {
        0 => (-z, -y),
        1 => (z, -y),
        2 => (x, z),
        3 => (x, -z),
        4 => (x, -y),
        _ => (-x, -y),
    };
    (face, [s, t].map(halve))
}

/// How coordinates on the face move when a direction does, in texels of a face of this size.
///
/// All directions are projected, and the differences are what counts. One that meets the next face is as far as the way
/// over the edge is, and there are no diagonals then; the opposite face is too far.
#[inline]
pub fn moves(direction: [f32; 3], along: [[f32; 3]; 2], size: u32) -> Gradients {
    let own = Ray::new(direction);
    let moved = along.map(|by| Ray::new([0, 1, 2].map(|n| direction[n] + by[n])));
    Gradients {
        along: moved.map(|ray| [0, 1, 2].map(|axis| distance(&own, &ray, axis, size))),
        flat: moved.iter().all(|ray| ray.face == own.face),
    }
}

/// How far a ray is from another along an axis, in the plane of that one's face.
fn distance(from: &Ray, to: &Ray, axis: usize, size: u32) -> Short {
    let part = |a: f32, b: f32| Short::difference(a, b).shifted(-1).of_texels(size);
    if to.face == from.face ^ 1 {
        Short::HUGE
    } else if axis == from.axis() {
        Short::ZERO
    } else if axis == to.axis() {
        part(1.0, from.toward(to.face)).plus(part(1.0, to.toward(from.face)))
    } else {
        part(to.at[axis], from.at[axis])
    }
}

/// From -1 to 1, to 0 to 1 with as many digits as a coordinate has, cut: exact in a single. Subnormal ones are 0.
fn halve(part: f32) -> f32 {
    const HALF: f64 = (1 << 20) as f64;
    let part = if part.abs() < f32::MIN_POSITIVE { 0.0 } else { part.clamp(-1.0, 1.0) };
    (((f64::from(part) * HALF).floor() + HALF) / (2.0 * HALF)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_component_chooses_the_face_and_z_goes_first() {
        for (direction, face) in [
            ([1.0, 0.0, 0.0], 0),
            ([-1.0, 0.0, 0.0], 1),
            ([0.0, 1.0, 0.0], 2),
            ([0.0, -1.0, 0.0], 3),
            ([0.0, 0.0, 1.0], 4),
            ([0.0, 0.0, -1.0], 5),
            ([1.0, 1.0, 1.0], 4),
            ([-1.0, -1.0, -1.0], 5),
            ([1.0, 1.0, 0.0], 2),
            ([0.0, 0.0, 0.0], 4),
            ([f32::INFINITY, 0.0, 0.0], 4),
            ([1e-40, 0.0, 0.0], 0),
            ([0.0, 0.5, f32::NEG_INFINITY], 2),
            ([1.0, f32::NAN, f32::NAN], 0),
        ] {
            assert_eq!(project(direction).0, face, "{direction:?}");
        }
        assert_eq!(project([1.0, 0.5, 0.0]), (0, [0.5, 0.25]));
        // The least bit below the middle is below it, unless it is subnormal.
        assert_eq!(project([1.0, 2e-38, 0.0]), (0, [0.5, 0.5 - 1.0 / 2_097_152.0]));
        assert_eq!(project([1.0, 1e-38, 0.0]), (0, [0.5, 0.5]));
    }
}
