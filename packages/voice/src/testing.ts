export type { SaidText, ScriptedSpeech, ScriptedSpeechOptions } from './testing/scripted-speech.ts'
export { scriptedSpeech } from './testing/scripted-speech.ts'
