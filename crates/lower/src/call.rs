//! Calls (PTX ISA sections 7.1 and 9.7.12.5). How values travel is said at [`softwarp_ir::Call`]; what a function
//! does with them when it is entered and left is in `parameter.rs`.

use crate::builder::{Builder, Lowered, Register, because};
use crate::parameter::{Layout, parameter_access};
use softwarp_check::Reference;
use softwarp_check::checked::{FuncId, VarId};
use softwarp_ir::{Call, Callee, Element, Memory, Provided, Step};
use softwarp_isa::{StateSpace, Type};
use softwarp_syntax::tree::{
    DeclaredType, Expr, Literal, Operand, OperandKind, Prototype, Range, Specifier, Statement, Variables,
};

/// What a parameter is to its caller.
#[derive(Clone, Copy, Debug)]
struct Formal {
    ty: Type,
    bytes: u64,
    /// Where it lies in the callee's parameter memory.
    at: u64,
    /// It is an array without a size: an argument may have fewer bytes.
    open: bool,
}

/// The return values and parameters of something that can be called.
#[derive(Debug, Default)]
struct Formals {
    returns: Vec<Formal>,
    parameters: Vec<Formal>,
}

impl Builder<'_, '_> {
    /// `call (ret), f, (a, b), prototype`
    pub fn call(&mut self, operands: Range<Operand>) -> Lowered<()> {
        let returns = self.paren(operands.start, operands);
        let target = operands.start + u32::from(returns.is_some());
        let parameters = self.paren(target + 1, operands);
        let prototype = target + 1 + u32::from(parameters.is_some());
        let [returns, parameters] =
            [returns, parameters].map(|list| list.map_or(0..0, |list| self.places(list)));
        let (callee, formals) = self.callee(target, prototype, operands)?;
        if formals.parameters.len() != parameters.len() || formals.returns.len() != returns.len() {
            return because("with so many arguments");
        }
        let mut scratch = Layout { end: self.memory.scratch };
        let mut call = Call { callee, inputs: Vec::new(), outputs: Vec::new() };
        for (index, formal) in parameters.zip(&formals.parameters) {
            let from = self.argument(index, formal, &mut scratch)?;
            let bytes = match self.reference(index) {
                Reference::Variable(id, _) if formal.open => {
                    self.variable(id).size().unwrap_or(0).min(formal.bytes)
                }
                _ => formal.bytes,
            };
            call.inputs.push((from, formal.at, bytes));
        }
        let mut loads = Vec::new();
        for (index, formal) in returns.zip(&formals.returns) {
            if matches!(self.operand(index).kind, OperandKind::Sink) {
                continue;
            }
            let to = match self.argument_variable(index)? {
                Some(at) => at,
                None => {
                    let at = scratch.put(formal.bytes, 16);
                    loads.push((index, at, formal.ty));
                    at
                }
            };
            call.outputs.push((formal.at, to, formal.bytes));
        }
        self.memory.parameter_bytes = self.memory.parameter_bytes.max(scratch.end);
        self.step(Step::Call(call))?;
        for (index, at, ty) in loads {
            let registers = self.argument_registers(index, ty)?;
            self.step(Step::Load(parameter_access(at, registers)?))?;
        }
        Ok(())
    }

    /// The list in parentheses at a place among a call's operands.
    fn paren(&self, index: u32, operands: Range<Operand>) -> Option<Range<Operand>> {
        if index >= operands.start + operands.len {
            return None;
        }
        match self.operand(index).kind {
            OperandKind::Paren(parts) => Some(parts),
            _ => None,
        }
    }

    fn callee(
        &mut self,
        target: u32,
        prototype: u32,
        operands: Range<Operand>,
    ) -> Lowered<(Callee, Formals)> {
        if let Reference::Function(id) = self.reference(target) {
            let function = self.session.image.function_of(self.unit, id);
            let is = self.session.image.function(function);
            if is.defined {
                let formals = self.formals_of(is.unit, is.id);
                return Ok((Callee::Direct(self.session.reach(function)), formals));
            }
            let provided = match &*is.name {
                "vprintf" => Provided::Vprintf,
                "malloc" => Provided::Malloc,
                "free" => Provided::Free,
                "__assertfail" => Provided::AssertFail,
                "cnpGetParameterBufferV2" => Provided::ParameterBuffer,
                "cnpLaunchDeviceV2" => Provided::LaunchDevice,
                name => return because(format!("since `{name}` has no body")),
            };
            return Ok((Callee::Provided(provided), self.formals_of(self.unit, id)));
        }
        let Some(register) = self.named_register(target)? else {
            return because("through something that is no register");
        };
        if prototype >= operands.start + operands.len {
            return because("without a prototype");
        }
        let Reference::Label(label) = self.reference(prototype) else {
            return because("with such a prototype");
        };
        let formals = match self.statements.get(label as usize + 1) {
            Some(Statement::CallPrototype(prototype)) => self.formals_in(prototype),
            Some(Statement::CallTargets(targets)) => {
                let symbol = targets.is.first().map(|name| name.symbol);
                let named = |function: &softwarp_check::checked::Function| Some(function.name) == symbol;
                match self.of.checked.functions.iter().position(named) {
                    Some(index) => self.formals_of(self.unit, FuncId(index as u32)),
                    None => return because("with such a list of functions"),
                }
            }
            _ => return because("with such a prototype"),
        };
        self.session.reach_indirectly();
        Ok((Callee::Indirect(register.id), formals))
    }

    fn formals_of(&self, unit: u32, id: FuncId) -> Formals {
        let checked = self.session.units[unit as usize].checked;
        let function = checked.function(id);
        let mut layout = Layout::default();
        let mut formal = |id: &VarId| {
            let variable = checked.variable(*id);
            let (ty, bytes) =
                (variable.value_type().unwrap_or(Type::B64), self.session.parameter_size(variable));
            Formal { ty, bytes, at: layout.put(bytes, variable.alignment), open: variable.open }
        };
        let parameters = function.parameters.iter().map(&mut formal).collect();
        Formals { parameters, returns: function.returns.iter().map(&mut formal).collect() }
    }

    fn formals_in(&self, prototype: &Prototype) -> Formals {
        let mut layout = Layout::default();
        let mut formals = |list: &Option<Vec<Variables>>| {
            let list = list.as_deref().unwrap_or_default();
            list.iter().map(|variables| self.formal_in(variables, &mut layout)).collect()
        };
        let parameters = formals(&prototype.parameters);
        Formals { parameters, returns: formals(&prototype.returns) }
    }

    fn formal_in(&self, variables: &Variables, layout: &mut Layout) -> Formal {
        let module = self.of.module;
        let (mut ty, mut alignment, mut bytes, mut open) = (Type::B64, 0, 1u64, false);
        for specifier in variables.specifiers.of(&module.specifiers) {
            match specifier.is {
                Specifier::Align(align) => alignment = align.is,
                Specifier::Vector(lanes) => bytes = bytes.saturating_mul(lanes),
                Specifier::Type(DeclaredType::Value(is)) => ty = is,
                _ => {}
            }
        }
        bytes = bytes.saturating_mul(u64::from(ty.register_type().bits() / 8));
        if let [declarator, ..] = variables.declarators.of(&module.declarators) {
            for dimension in &declarator.dimensions {
                let size = dimension.is.map(|id| module.expression(id).is);
                open |= size.is_none();
                if let Some(Expr::Literal(Literal::Int { value, .. })) = size {
                    bytes = bytes.saturating_mul(value);
                }
            }
        }
        if open {
            bytes = self.session.most_passed();
        }
        Formal { ty, bytes, at: layout.put(bytes, alignment), open }
    }

    /// Where the caller has an argument, if it is a `.param`.
    fn argument_variable(&self, index: u32) -> Lowered<Option<u64>> {
        let Reference::Variable(id, member) = self.reference(index) else { return Ok(None) };
        if self.variable(id).space != StateSpace::Param {
            return Ok(None);
        }
        let placed = self.place(id, member)?;
        if placed.memory != Memory::Function {
            return because("with a parameter as an argument");
        }
        Ok(Some(placed.address))
    }

    /// Where the caller has an argument: registers and constants are stored first.
    fn argument(&mut self, index: u32, formal: &Formal, scratch: &mut Layout) -> Lowered<u64> {
        if let Some(at) = self.argument_variable(index)? {
            return Ok(at);
        }
        let registers = self.argument_registers(index, formal.ty)?;
        let at = scratch.put(formal.bytes, 16);
        self.step(Step::Store(parameter_access(at, registers)?))?;
        Ok(at)
    }

    fn argument_registers(&mut self, index: u32, ty: Type) -> Lowered<Vec<Element>> {
        let bits = |register: Register| match register.bits {
            1 => because("with a predicate as an argument"),
            _ => Ok(register.element()),
        };
        match self.reference(index) {
            Reference::Variable(id, member) if self.is_register(id) && self.lanes(index) > 1 => {
                (0..self.lanes(index)).map(|n| self.register(id, member, n).and_then(bits)).collect()
            }
            Reference::Variable(id, _) if self.is_register(id) => match self.named_register(index)? {
                Some(register) => Ok(vec![bits(register)?]),
                None => because("with such an argument"),
            },
            _ => Ok(vec![Element::new(self.source(index, ty)?, ty.bits() as u8)]),
        }
    }
}
