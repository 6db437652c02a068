export type { CallOrder } from './admit.ts'
export { admitCall } from './admit.ts'
export { isThenable } from './and-then.ts'
export type { ToolContent } from './content.ts'
export { toolContent } from './content.ts'
export { isElsewhere } from './elsewhere.ts'
export { guardOf } from './guard.ts'
export { flawIn } from './json-schema.ts'
export type { NestedRun, Resumed } from './nested-run.ts'
export { nestedRunOf } from './nested-run.ts'
export { pending } from './pending.ts'
export type {
  Access,
  FetchAccess,
  JudgedCall,
  PathAccess,
  PermissionMemory,
  Policy,
  Ruling,
  RunAccess,
} from './policy.ts'
export type { BeforeCall, Verdict } from './prepare.ts'
export type { RepeatLimits } from './repeats.ts'
export { repeatGuard } from './repeats.ts'
export type { AfterCall, Replacement, ToolRuntime } from './runtime.ts'
export { toolRuntime } from './runtime.ts'
export type { CompiledSchema, InferInput, InferValue, JsonSchema, Schema } from './schema.ts'
export { compileSchema } from './schema.ts'
export type { Partially, Tool, Toolbox, ToolContext, ToolOptions } from './tool.ts'
export { tool } from './tool.ts'
export { isToolbox, noticesOf, toolsIn } from './toolbox.ts'
export { replaceUnseen, spellUnseen } from './unseen.ts'
