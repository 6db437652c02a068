// What the other packages of Millrace share with this one. It may change in any version: they have the same version, always.

export type { Fetch } from './models/index.ts'
export { failureOf, isHarmless, secretsIn, secretsInUrl, withoutSecrets } from './models/index.ts'
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
  RunBeginning,
  RunEndEvent,
  RunStartEvent,
  RunTelemetry,
  ToolStartEvent,
  TurnRecord,
  VoiceCommand,
  VoiceEvent,
  VoicePlace,
} from './protocol/index.ts'
export {
  aFunction,
  anObject,
  anything,
  asHeard,
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
  toJson,
  toMillraceError,
  wholeNumber,
  wordsOfResult,
  writeAudioFrame,
  yesOrNo,
} from './protocol/index.ts'
export { handleBy } from './telemetry/index.ts'
export { errorListener, findLast } from './threads/index.ts'
export type { FetchAccess, JudgedCall, PathAccess, RunAccess } from './tools/index.ts'
export { flawIn, nestedRunOf, replaceUnseen, spellUnseen } from './tools/index.ts'
export { decodeEntities } from './view/markdown/index.ts'
