export type { ScriptedSpeech, ScriptedSpeechOptions, SpokenText } from './testing/scripted-speech.ts'
export { scriptedSpeech } from './testing/scripted-speech.ts'
