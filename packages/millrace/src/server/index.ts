export type {
  AiSdkUiOptions,
  Caller,
  Field,
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
  Voice,
  VoiceOutlet,
  VoiceSession,
} from '../protocols/index.ts'
export { aiSdkUi, httpError } from '../protocols/index.ts'
export type { ExchangeFolderOptions } from './exchange-folder.ts'
export { exchangeFolder } from './exchange-folder.ts'
export type { ListeningServer } from './listen.ts'
export type { Auth, Identity, Limits, ServerOptions } from './options.ts'
export type { ServeOptions } from './serve.ts'
export { serve } from './serve.ts'
export type { ListenOptions, ServedApp } from './serve-app.ts'
