; Debug information: .loc, .file and DWARF sections.
define ptx_kernel void @debug(ptr %p, i32 %n) !dbg !5 {
entry:
  #dbg_value(i32 %n, !9, !DIExpression(), !10)
  %a = mul i32 %n, %n, !dbg !10
  store i32 %a, ptr %p, !dbg !11
  ret void, !dbg !12
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3, !4}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "by hand", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug, enums: !2)
!1 = !DIFile(filename: "debug.c", directory: "/source")
!2 = !{}
!3 = !{i32 2, !"Dwarf Version", i32 2}
!4 = !{i32 2, !"Debug Info Version", i32 3}
!5 = distinct !DISubprogram(name: "debug", scope: !1, file: !1, line: 3, type: !6, scopeLine: 3, spFlags: DISPFlagDefinition, unit: !0, retainedNodes: !2)
!6 = !DISubroutineType(types: !7)
!7 = !{null, !8}
!8 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!9 = !DILocalVariable(name: "n", arg: 2, scope: !5, file: !1, line: 3, type: !8)
!10 = !DILocation(line: 4, column: 5, scope: !5)
!11 = !DILocation(line: 5, column: 7, scope: !5)
!12 = !DILocation(line: 6, column: 1, scope: !5)
