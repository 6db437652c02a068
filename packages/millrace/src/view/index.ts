export type { ErrorJson, Outcome, ToolResultEvent, Usage, UserMessage } from '../protocol/index.ts'
export type { ViewOptions } from './fold.ts'
export { applyEntry, createView, statusOf, textOf } from './fold.ts'
export type { Detail, Sink, Tag } from './markdown/index.ts'
export { markdownParser } from './markdown/index.ts'
export type { ResultFold, RunSummary } from './result.ts'
export { foldResult, roundText } from './result.ts'
export type {
  ApprovalView,
  CallState,
  CallView,
  Change,
  EndView,
  GrowingText,
  InputView,
  LegView,
  LogView,
  NoticeView,
  RoundView,
  Row,
  RunView,
  TextView,
} from './types.ts'
