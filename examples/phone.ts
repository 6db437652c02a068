import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { flite, listener, moonshine, silero, voice } from '@millrace/voice'
import { textOf } from 'millrace'
import { client, type RemoteThread } from 'millrace/client'
import { serve } from 'millrace/server'
import { type CallerLine, call } from './phone/call.ts'
import { phoneDesk } from './support-desk/agent.ts'
import { deskModel } from './support-desk/model.ts'

// npm run phone                                                  a call, played by itself: no key, no microphone, no network
// npm run phone -- --call 'Where is my order forty two?'         a call of your own, --call for each question
// npm run phone -- --wav call.wav                                and both sides of it as a file to listen to
// npm run phone -- --page                                        nobody calls: open the page, and speak into your microphone
const { values } = parseArgs({
  options: {
    call: { type: 'string', multiple: true },
    wav: { type: 'string' },
    page: { type: 'boolean' },
  },
})

const usual: readonly CallerLine[] = [
  { text: 'What are my orders?' },
  // In the middle of the answer: the desk falls silent, and knows how far it was heard.
  { text: 'Wait, where is order number forty two?', afterSentences: 3 },
]

// What is wrong is in the message, and a stack of calls helps nobody.
process.on('uncaughtException', (error) => {
  console.error(`phone: ${error.message}`)
  process.exit(1)
})

const desk = await deskModel()
const speech = flite()
const [vad, transcriber] = [silero(), moonshine()]
const speaking = voice({
  speech,
  // However busy the machine is: a caller waits rather than says it again.
  listener: listener({ vad, transcriber, timeoutMs: 30_000 }),
  // Carriers take their time.
  filler: { text: 'One moment, please.' },
})
const app = serve({ agents: phoneDesk(desk.model), voice: speaking })
// Who calls first does not wait for it to be loaded.
await Promise.all([vad.ready?.(), transcriber.ready?.()])
const { url } = await app.listen()
const hangingUp = new AbortController()
process.on('SIGINT', hangUp).on('SIGTERM', hangUp)
console.log(`A spoken support desk at ${url}/\n${desk.about}\n`)

function hangUp() {
  // Somebody who has to ask twice does not want to wait.
  if (hangingUp.signal.aborted) process.exit(130)
  hangingUp.abort()
}

const tell = (seconds: number, what: string) => console.log(`${seconds.toFixed(1).padStart(5)} s  ${what}`)

/** What stands in the log: also what nobody heard, which no model will read. */
async function showConversation(thread: RemoteThread) {
  const { messages } = await thread.state()
  const show = (who: string, text: string) =>
    console.log(`  ${who.padEnd(9)} ${text.trim().replace(/\s*\n\s*/g, ' ')}`)
  console.log('\nThe conversation, as it is kept:')
  for (const message of messages) {
    if (message.role === 'user') show('caller', textOf(message))
    if (message.role !== 'assistant') continue
    for (const part of message.content) {
      if (part.type !== 'text') continue
      if (part.text) show('desk', part.text)
      if (part.unheard) show('not heard', part.unheard)
    }
  }
}

async function playCall() {
  const thread = await client(url).create()
  const lines = values.call?.map((text): CallerLine => ({ text })) ?? usual
  const wav = await call(thread, { lines, speech, voice: 'rms', tell, signal: hangingUp.signal })
  await showConversation(thread)
  if (values.wav === undefined) return
  writeFileSync(values.wav, wav)
  console.log(`\nThe call is in ${values.wav}: the caller on the left, the desk on the right.`)
}

try {
  if (values.page) {
    console.log(
      'Open it, press the microphone and the speaker, and ask where order forty-two is. Ctrl-C ends it.',
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
