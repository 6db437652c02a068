export type { AgUiOptions } from './ag-ui/index.ts'
export { agUi } from './ag-ui/index.ts'
export type { AiSdkUiOptions } from './ai-sdk-ui/index.ts'
export { aiSdkUi } from './ai-sdk-ui/index.ts'
export { anthropicApi } from './anthropic/index.ts'
export { closeCodes } from './attach-socket.ts'
export { onBodyEnd } from './body-end.ts'
export type { ClientOption } from './commands.ts'
export {
  checkRequest,
  defaultClientOptions,
  inspectorOptions,
  requestField,
  requestOptions,
} from './commands.ts'
export { derivedId, findThread } from './derived-id.ts'
export type { Field, Fields } from './fields.ts'
export {
  checkFields,
  choiceField,
  listField,
  numberField,
  objectField,
  parseJson,
  patternField,
  required,
  schemaOf,
  textField,
} from './fields.ts'
export { errorReport, httpError, noThread, withStatus } from './http-error.ts'
export { millraceSocket } from './millrace-socket.ts'
export { millraceSse } from './millrace-sse.ts'
export type { ModelProtocolOptions } from './model-api/index.ts'
export { writeBody, writeThread } from './node-stream.ts'
export { openaiApi } from './openai/index.ts'
export type {
  Caller,
  ClientOptions,
  FoundInput,
  FoundThread,
  Frame,
  Frames,
  HttpError,
  MountedProtocol,
  NewThreadOptions,
  Protocol,
  ProtocolHost,
  Route,
  RouteContext,
  RouteResponse,
  ServerSocket,
  SocketConnection,
  SocketContext,
  SocketHandler,
  StreamSlot,
} from './protocol.ts'
export { json, ref } from './protocol.ts'
export { streamBody, threadStreamOf } from './thread-stream.ts'
export type { TokenBucket } from './token-bucket.ts'
export { tokenBucket, tokenBuckets } from './token-bucket.ts'
export type { Voice, VoiceOutlet, VoiceSession } from './voice.ts'
