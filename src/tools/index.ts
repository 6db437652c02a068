export { isThenable } from './and-then.ts'
export type { ToolContent } from './content.ts'
export { toolContent } from './content.ts'
export type { OptionTable, Problem } from './option-table.ts'
export {
  aFunction,
  anObject,
  anything,
  checkOptions,
  duration,
  oneOf,
  someText,
  wholeNumber,
} from './option-table.ts'
export type { Pending } from './pending.ts'
export { pending } from './pending.ts'
export type { BeforeCall, HookCall, Verdict } from './prepare.ts'
export { prepareCall } from './prepare.ts'
export type { RepeatLimits } from './repeats.ts'
export { repeatGuard } from './repeats.ts'
export type { AfterCall, Replacement, ToolRuntime } from './runtime.ts'
export { toolRuntime } from './runtime.ts'
export type { CompiledSchema, InferInput, InferValue, JsonSchema, Schema } from './schema.ts'
export { compileSchema } from './schema.ts'
export type { Partially, Resumed, Tool, ToolContext, ToolOptions } from './tool.ts'
export { asksPerson, tool } from './tool.ts'
