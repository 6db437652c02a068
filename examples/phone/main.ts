import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { flite, listener, moonshine, silero, voice } from '@millrace/voice'
import { textOf } from 'millrace'
import { client, type RemoteThread } from 'millrace/client'
import { serve } from 'millrace/server'
import { phoneDesk } from '../support-desk/agent.ts'
import { deskModel } from '../support-desk/model.ts'
import { type CallerLine, call } from './call.ts'

// npm run phone                                            a simulated call: no key, microphone or network
// npm run phone -- --call 'Where is my order forty two?'   your own questions, one --call for each
// npm run phone -- --wav call.wav                          also records both sides to a file
// npm run phone -- --page                                  no call: open the page and use your microphone
const { values } = parseArgs({
  options: {
    call: { type: 'string', multiple: true },
    wav: { type: 'string' },
    page: { type: 'boolean' },
  },
})

const defaultLines: readonly CallerLine[] = [
  { text: 'What are my orders?' },
  // Interrupts the answer: the desk stops speaking, and knows how much of it was heard.
  { text: 'Wait, where is order number forty two?', afterSentences: 3 },
]

// The message is enough; a stack trace would not help.
process.on('uncaughtException', (error) => {
  console.error(`phone: ${error.message}`)
  process.exit(1)
})

const desk = await deskModel()
const speech = flite()
const [vad, transcriber] = [silero(), moonshine()]
const speaking = voice({
  speech,
  // Long enough for a busy machine: waiting is better than asking the caller to repeat.
  listener: listener({ vad, transcriber, timeoutMs: 30_000 }),
  // Said while a slow tool runs.
  filler: { text: 'One moment, please.' },
})
const app = serve({ agents: phoneDesk(desk.model), voice: speaking })
// Loads the models before the first call.
await Promise.all([vad.ready?.(), transcriber.ready?.()])
const { url } = await app.listen()
const hangingUp = new AbortController()
process.on('SIGINT', hangUp).on('SIGTERM', hangUp)
console.log(`A spoken support desk at ${url}/\n${desk.about}\n`)

function hangUp() {
  // A second Ctrl-C exits at once.
  if (hangingUp.signal.aborted) process.exit(130)
  hangingUp.abort()
}

const log = (seconds: number, what: string) => console.log(`${seconds.toFixed(1).padStart(5)} s  ${what}`)

/** Prints the conversation, including text that was never heard, which the model does not see. */
async function showConversation(thread: RemoteThread) {
  const { messages } = await thread.state()
  const show = (who: string, text: string) =>
    console.log(`  ${who.padEnd(9)} ${text.trim().replace(/\s*\n\s*/g, ' ')}`)
  console.log('\nThe stored conversation:')
  for (const message of messages) {
    if (message.role === 'user') show('caller', textOf(message))
    if (message.role !== 'assistant') continue
    for (const part of message.content) {
      if (part.type !== 'text') continue
      if (part.text) show('desk', part.text)
      if (part.unplayed) show('not heard', part.unplayed)
    }
  }
}

async function playCall() {
  const thread = await client(url).create()
  const lines = values.call?.map((text): CallerLine => ({ text })) ?? defaultLines
  const wav = await call(thread, { lines, speech, voice: 'rms', log, signal: hangingUp.signal })
  await showConversation(thread)
  if (values.wav === undefined) return
  writeFileSync(values.wav, wav)
  console.log(`\nThe call is in ${values.wav}: the caller on the left, the desk on the right.`)
}

try {
  if (values.page) {
    console.log(
      'Open it, press the microphone and the speaker, and ask where order forty-two is. Ctrl-C shuts down.',
    )
    await new Promise((resolve) => hangingUp.signal.addEventListener('abort', resolve))
  } else await playCall()
} catch (error) {
  if (!hangingUp.signal.aborted) throw error
} finally {
  await app.close()
  await speaking.close()
  await desk.close()
}
