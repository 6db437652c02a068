export type { AgentDetails, AgentInfo, AgentModel } from './agent-info.ts'
export { parseArguments, toolCall } from './arguments.ts'
export { askForJson } from './ask-for-json.ts'
export type { InputMessage, InputUserMessage } from './check.ts'
export { checkMessages, checkVersion, readTranscript, writeTranscript } from './check.ts'
export type { Clock } from './clock.ts'
export { repeatEvery, sleep, systemClock } from './clock.ts'
export { closest } from './closest.ts'
export type {
  AmountKind,
  Amounts,
  BudgetScope,
  ContextUse,
  Cost,
  FailedRequest,
  Limits,
  Paid,
  ReachedLimit,
  TokenEstimate,
} from './cost.ts'
export { amountKinds, budgetId } from './cost.ts'
export type { Delta, GrowingDelta } from './deltas.ts'
export { growDelta, joinedEvent, lastChars, relate, startDelta, textOfDelta, withText } from './deltas.ts'
export type { AssistantDraft } from './draft.ts'
export { assistantDraft, foldMessage } from './draft.ts'
export { errorListener } from './error-listener.ts'
export type { ErrorCode, ErrorFields, ErrorJson } from './errors.ts'
export { invalidInput, isMillraceError, MillraceError, messageOf, toMillraceError } from './errors.ts'
export { endFrame, entryFrame, eventStreamHeaders, heartbeatFrame } from './event-stream.ts'
export type {
  ApprovalEvent,
  ApprovalRequestEvent,
  CallDisplay,
  CallKind,
  CallStatus,
  DoneEvent,
  Entry,
  FeedbackEvent,
  FinishReason,
  InputEvent,
  InputMode,
  ModelEvent,
  Outcome,
  Permission,
  PlaybackEvent,
  ProviderToolEvent,
  ReasoningEvent,
  Remembered,
  RememberFor,
  RestartEvent,
  RewindEvent,
  RoundEndEvent,
  RoundFinish,
  RoundRetractEvent,
  RoundRetryEvent,
  RoundStartEvent,
  RunEndEvent,
  RunEvent,
  RunStartEvent,
  StopEvent,
  SummaryEvent,
  TextEvent,
  ThreadEvent,
  ToolCallEvent,
  ToolInputEvent,
  ToolInputStartEvent,
  ToolProgressEvent,
  ToolResultEvent,
  ToolStartEvent,
} from './events.ts'
export { isRunEvent, outcomes } from './events.ts'
export type {
  CallEnd,
  CallObserver,
  Exchange,
  ExchangePage,
  ExchangePageOptions,
  ExchangesOptions,
  ModelCall,
  ObserveCall,
  WireExchange,
} from './exchange.ts'
export type { JsonObject, JsonValue } from './json.ts'
export { isJsonObject, isObject, kindOf, nameOf, toJson } from './json.ts'
export { budgetQuestion, formatAmount, formatCount, formatUsd, limitText } from './limit-text.ts'
export type {
  AssistantMessage,
  AssistantPart,
  FilePart,
  ImagePart,
  JsonPart,
  Message,
  ProviderData,
  ProviderToolPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
  UserMessage,
  UserPart,
} from './messages.ts'
export { PROTOCOL_VERSION, textOf, textOfResult, toolCallsOf } from './messages.ts'
export type { MetadataState } from './metadata.ts'
export {
  applyMetadata,
  foldMetadata,
  maxMetadataBytes,
  mergePatch,
  metadataEvent,
  metadataProblem,
  numberMetadata,
  readPatch,
} from './metadata.ts'
export type {
  Model,
  ModelCapabilities,
  ModelRequest,
  ModelStream,
  OnEvents,
  Price,
  StreamOptions,
  WireListener,
} from './model.ts'
export { pushEvents, pushedStream } from './model-stream.ts'
export { hasInputs, hasStarted, mayRunTools, nextAction } from './next-action.ts'
export type { OptionTable, Problem } from './option-table.ts'
export {
  aFunction,
  anObject,
  anything,
  checkOptions,
  duration,
  logPosition,
  oneOf,
  someText,
  unknownField,
  wholeNumber,
  yesOrNo,
} from './option-table.ts'
export { findUnpaired, pairHistory } from './pairing.ts'
export type { PartialJson } from './partial-json.ts'
export { partialJson } from './partial-json.ts'
export { asPlayed, trimToPlayed } from './playback.ts'
export type { PublicError } from './public-error.ts'
export { publicError } from './public-error.ts'
export { readExport } from './read-export.ts'
export type { ModelSettings, RunRequest, ToolChoice, ToolSpec } from './run-request.ts'
export type { CallState, RunState } from './run-state.ts'
export {
  answerKey,
  countSummary,
  foldLog,
  messagesOf,
  openRequests,
  transcriptLength,
  transcriptOf,
  turnStart,
} from './run-state.ts'
export type { SavedMessage, SavedThread } from './saved-thread.ts'
export {
  dropForgotten,
  foldVersion,
  restoreThread,
  restoreWithoutMessages,
  savedMessages,
  saveThread,
} from './saved-thread.ts'
export type { ScriptRound, ScriptStep } from './script.ts'
export { foldText, searchText, searchWords } from './search.ts'
export { capabilitiesProblem, mergeSettings, settingsProblem, settingsTable } from './settings.ts'
export type { Spent, TotalCost } from './spend.ts'
export {
  addSpent,
  amountsOf,
  countSpend,
  nothingSpent,
  simulatedPrices,
  spendOf,
  spendTokens,
  toNanos,
  totalCost,
  toUsd,
} from './spend.ts'
export type { SpendingKey, SpendingOptions, SpendingRow } from './spending.ts'
export type { SseReader } from './sse.ts'
export { sseReader } from './sse.ts'
export type {
  AppGauges,
  AppTelemetry,
  Flush,
  RunInfo,
  RunTelemetry,
  Telemetry,
} from './telemetry.ts'
export { isTraceContext } from './telemetry.ts'
export type { ExportedThread, ExportOptions, ReadableThread } from './thread-export.ts'
export { exportThread, wholeLog } from './thread-export.ts'
export { exportMark, fillThreadHtml } from './thread-html.ts'
export type {
  ApprovalAnswer,
  Feedback,
  FollowOptions,
  Playback,
  RespondOptions,
  RewindOptions,
  SendOptions,
  StateOptions,
  ThreadFilters,
} from './thread-options.ts'
export type { ThreadState, WaitingInput } from './thread-state.ts'
export {
  applyAppended,
  applyEntry,
  applyNumber,
  approvalsOf,
  cancelReason,
  conversationOf,
  droppedOf,
  emptyThread,
  isNewRun,
  isOpen,
  isWanted,
  nextRequestOf,
  nextThreadAction,
  promptOf,
  queuedInputs,
  spentIn,
  steeringInputs,
  usageOf,
} from './thread-state.ts'
export type { ThreadInfo, ThreadPage, ThreadSnapshot, ThreadStatus, ThreadView } from './thread-view.ts'
export { snapshotOf } from './thread-view.ts'
export { titleFrom, titleOf } from './title.ts'
export type { ToolContent } from './tool-content.ts'
export { contentParts, toolContent } from './tool-content.ts'
export { upgradeEvent, upgradeExchange } from './upgrade.ts'
export type { Usage } from './usage.ts'
export { addUsage, checkUsage, noUsage } from './usage.ts'
export type { AudioFrame, TurnRecord, VoiceCommand, VoiceEvent, VoicePosition } from './voice.ts'
export { readAudioFrame, writeAudioFrame } from './voice.ts'
