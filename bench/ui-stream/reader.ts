import { answer } from '../harness/answer.ts'
import { during } from '../harness/measure.ts'
import { scenarioOf } from '../server/scenario.ts'
import { textOf } from '../workloads/received.ts'
import { type Size, type WorkName, workloadOf } from './ways.ts'

// Posts what `useChat` posts and reads the answers, in its own process.

interface Asked {
  readonly url: string
  readonly work: WorkName
  readonly size: Size
}

let asked = 0

/** The text of one answer. Throws if the answer does not come to its end. */
async function readAnswer(url: string): Promise<string> {
  const id = `chat-${++asked}`
  const messages = [{ id: `${id}-1`, role: 'user', parts: [{ type: 'text', text: 'Tell me all about it.' }] }]
  const response = await fetch(`${url}/api/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, messages, trigger: 'submit-message' }),
  })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  return textIn(await response.text())
}

function textIn(body: string): string {
  const lines = body.split('\n').filter((line) => line.startsWith('data: '))
  if (lines.pop() !== 'data: [DONE]') throw new Error(`the stream ends with ${body.slice(-80)}`)
  const chunks = lines.map((line): { type: string; delta?: string } => JSON.parse(line.slice(6)))
  const last = chunks.at(-1)?.type
  if (last !== 'finish') throw new Error(`the last chunk is ${last}`)
  return chunks.flatMap(({ type, delta = '' }) => (type === 'text-delta' ? [delta] : [])).join('')
}

async function play({ url, work, size }: Asked): Promise<void> {
  const { scenario, answers } = workloadOf(work)
  const { count, atOnce } = answers(size)
  const sent = scenarioOf(scenario(size))
  const expected = sent ? textOf(sent) : ''
  for (let left = count; left > 0; left -= atOnce) {
    const texts = await Promise.all(Array.from({ length: atOnce }, () => readAnswer(url)))
    for (const text of texts) {
      if (text.length !== expected.length)
        throw new Error(`the text has ${text.length} characters, expected ${expected.length}`)
      // The deltas of a paced answer are times, as long as their placeholders.
      if (work !== 'paced' && text !== expected) throw new Error('the text is not the one that was sent')
    }
  }
}

const questions = {
  warm: (asked: Asked) => during(asked.size.warmMs, () => play(asked)),
  play,
}
export type ReaderAnswers = typeof questions
answer(questions)
