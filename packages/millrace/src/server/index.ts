export type {
  AgUiOptions,
  AiSdkUiOptions,
  Caller,
  ClientOption,
  ClientOptions,
  Field,
  FoundInput,
  FoundThread,
  Frame,
  Frames,
  HttpError,
  ModelProtocolOptions,
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
  Voice,
  VoiceOutlet,
  VoiceSession,
} from '../protocols/index.ts'
export { agUi, aiSdkUi, anthropicApi, httpError, openaiApi } from '../protocols/index.ts'
export type { ExchangeFolderOptions } from './exchange-folder.ts'
export { exchangeFolder } from './exchange-folder.ts'
export type { ListeningServer } from './listen.ts'
export type { Auth, Identity, Limits, ServerOptions } from './options.ts'
export type { ServeOptions } from './serve.ts'
export { serve } from './serve.ts'
export type { ListenOptions, ServedApp } from './serve-app.ts'
export type { ThreadHtmlOptions } from './thread-html.ts'
export { threadHtml } from './thread-html.ts'
