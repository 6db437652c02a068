import { styleText } from 'node:util'
import type { Agent, ApprovalRequestEvent, Decision, Message } from 'millrace'
import { cleanLine } from './clean.ts'
import { exchange } from './exchange.ts'
import { ask, onCtrlC } from './keyboard.ts'
import { screenOn } from './screen.ts'
import { answerView } from './terminal.ts'

/** Talks with a person until they leave. Gives the exit code. */
export async function converse(desk: Agent): Promise<number> {
  console.log(styleText('dim', 'Try: Where is ORD-42? · Refund ORD-43 · What did I order?'))
  console.log(styleText('dim', 'Ctrl-C stops an answer, and leaves when there is none; so does exit.\n'))
  const history: string[] = []
  let messages: readonly Message[] = []
  for (;;) {
    const question = (await ask(styleText('cyan', 'you › '), history))?.trim()
    if (question === '') continue
    if (question === undefined || /^(exit|quit)$/i.test(question)) break
    messages = await answer(desk, [...messages, { role: 'user', content: question }])
    console.log()
  }
  console.log('Goodbye.')
  return 0
}

/** Answers the last message. Gives the conversation to go on with, whatever came of it. */
async function answer(desk: Agent, messages: readonly Message[]): Promise<readonly Message[]> {
  const stopping = new AbortController()
  const view = answerView(screenOn(process.stdout))
  const stop = () => {
    // Stopping takes no time, so somebody who has to ask twice is looking at a bug: let them out.
    if (stopping.signal.aborted) process.exit(130)
    stopping.abort(new Error('stopped by Ctrl-C'))
  }
  let release = onCtrlC(stop)

  async function decide({ callId, name, reason }: ApprovalRequestEvent): Promise<Decision> {
    release()
    const reply = stopping.signal.aborted
      ? undefined
      : await ask(`${cleanLine(reason ?? `Run ${name}?`)} [y/N] `)
    if (reply === undefined) stopping.abort(new Error('stopped by Ctrl-C'))
    release = onCtrlC(stop)
    return { callId, approved: /^\s*y(es)?\s*$/i.test(reply ?? '') }
  }

  try {
    const result = await exchange(desk, messages, { signal: stopping.signal, onEvent: view.tell, decide })
    return result.messages
  } finally {
    view.settle()
    release()
  }
}
