export type { FinalMessage } from './final-message.ts'
export { finalMessagesAfter } from './final-message.ts'
export type { VoiceSession } from './voice/session.ts'
export type { Voice } from './voice/voice.ts'
