// Exports for the other Millrace packages, which always have the same version as this one. They may
// change in any version.

export type { Fetch } from './models/index.ts'
export { failureOf, isSafeToShow, secretsIn, secretsInUrl, withoutSecrets } from './models/index.ts'
export type {
  AppGauges,
  AppTelemetry,
  AssistantDraft,
  AssistantPart,
  CallObserver,
  CallStatus,
  ErrorFields,
  ModelCall,
  OptionTable,
  Problem,
  ProviderToolPart,
  RoundFinish,
  RunEndEvent,
  RunInfo,
  RunStartEvent,
  RunTelemetry,
  ToolStartEvent,
  TurnRecord,
  VoiceCommand,
  VoiceEvent,
  VoicePosition,
} from './protocol/index.ts'
export {
  aFunction,
  anObject,
  anything,
  asPlayed,
  checkOptions,
  checkUsage,
  closest,
  duration,
  invalidInput,
  isNewRun,
  isObject,
  isTraceContext,
  kindOf,
  messageOf,
  nameOf,
  oneOf,
  publicError,
  readAudioFrame,
  sleep,
  someText,
  systemClock,
  textOfResult,
  toJson,
  toMillraceError,
  wholeNumber,
  writeAudioFrame,
  yesOrNo,
} from './protocol/index.ts'
export { eventHandler } from './telemetry/index.ts'
export { errorListener, findLast } from './threads/index.ts'
export type { FetchAccess, PathAccess, PolicyRequest, RunAccess } from './tools/index.ts'
export { escapeInvisible, jsonSchemaProblem, nestedRunOf, replaceInvisible } from './tools/index.ts'
export { decodeEntities } from './view/markdown/index.ts'
