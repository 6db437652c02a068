export type { ToolContent } from '../protocol/index.ts'
export { toolContent } from '../protocol/index.ts'
export type { CallRequest } from './admit.ts'
export { admitCall } from './admit.ts'
export { toParts } from './content.ts'
export { isHandover } from './handover.ts'
export { escapeInvisible, replaceInvisible } from './invisible.ts'
export { jsonSchemaProblem } from './json-schema.ts'
export { isThenable } from './map-maybe-async.ts'
export type { Metadata, NestedRun, Resumed } from './nested-run.ts'
export { nestedRun, nestedRunOf } from './nested-run.ts'
export { pending } from './pending.ts'
export type {
  Access,
  FetchAccess,
  PathAccess,
  PermissionMemory,
  Policy,
  PolicyDecision,
  PolicyRequest,
  RunAccess,
} from './policy.ts'
export type { PolicyChain } from './policy-chain.ts'
export { policyChain } from './policy-chain.ts'
export type { BeforeCall, BeforeCallResult } from './prepare.ts'
export type { RepeatLimits } from './repeats.ts'
export { repeatDetector } from './repeats.ts'
export type { AfterCall, Replacement, ToolRuntime } from './runtime.ts'
export { toolRuntime } from './runtime.ts'
export type { CompiledSchema, InferInput, InferValue, JsonSchema, Schema } from './schema.ts'
export { compileSchema } from './schema.ts'
export type { DeepPartial, Tool, Toolbox, ToolContext, ToolOptions } from './tool.ts'
export { tool } from './tool.ts'
export { isToolbox, noticesOf, toolsIn } from './toolbox.ts'
