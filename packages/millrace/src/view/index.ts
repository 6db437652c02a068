export type {
  ContextUse,
  ErrorJson,
  Message,
  Outcome,
  Paid,
  ReachedLimit,
  Spent,
  ToolResultEvent,
  TotalCost,
  Usage,
  UserMessage,
} from '../protocol/index.ts'
export {
  addSpent,
  budgetQuestion,
  countSpend,
  formatAmount,
  formatUsd,
  limitText,
  nothingSpent,
  partialJson,
  simulatedPrices,
  totalCost,
} from '../protocol/index.ts'
export type { ViewOptions } from './fold.ts'
export { applyEntry, createView, statusOf, textOf } from './fold.ts'
export type { Detail, Sink, Tag } from './markdown/index.ts'
export { markdownParser } from './markdown/index.ts'
export type { ResultFold, RunSummary } from './result.ts'
export { foldResult, roundText } from './result.ts'
export type { RoundInput } from './round-input.ts'
export { roundInput } from './round-input.ts'
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
  Version,
  Versions,
} from './types.ts'
export type { UIMessageChunks, UIMessageChunksOptions } from './ui-message-chunks.ts'
export { sseEnd, sseOfChunks, uiMessageChunks, uiMessageHeaders } from './ui-message-chunks.ts'
export { uiMessages } from './ui-message-history.ts'
export type { UIMessage, UIMessageChunk, UIMessagePart } from './ui-message-types.ts'
export type { PostedAnswers, PostedChat, PostedMessage, UIConversation } from './ui-messages.ts'
export {
  readAnswers,
  readConversation,
  readPostedChat,
  readUIMessages,
  userMessage,
} from './ui-messages.ts'
