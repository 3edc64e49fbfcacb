//! Steps of textures and surfaces (PTX ISA sections 9.7.10 and 9.7.11).

/// What is done with a texture or surface.
#[derive(Clone, Debug)]
pub enum TextureOp {}
