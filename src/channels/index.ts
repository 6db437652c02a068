export type { Answered } from './answer.ts'
export { foldAnswer } from './answer.ts'
export { answerFields, approve, keyField, send, sendFields, stop, stopFields } from './commands.ts'
export type { Field, Fields } from './fields.ts'
export {
  checkFields,
  choiceField,
  numberField,
  objectField,
  patternField,
  positionField,
  required,
  schemaOf,
  textField,
} from './fields.ts'
export { parseJson } from './parse-json.ts'
export type { PublicError } from './public-error.ts'
export { publicError } from './public-error.ts'
export type { EventFeed } from './sse.ts'
export { eventHeaders, eventStream, writeEvents } from './sse.ts'
export type { TokenBucket } from './token-bucket.ts'
export { tokenBucket, tokenBuckets } from './token-bucket.ts'
export type { Voice } from './voice/voice.ts'
export type { SocketChannel } from './websocket.ts'
export { attachSocket, closeCodes } from './websocket.ts'
export { writeStream } from './write-stream.ts'
