import type { SimulatedRequest } from '@millrace/simulator'
import type { ScriptRound } from '../packages/millrace/src/testing/index.ts'

// The provider that the documents' programs talk to, whichever they name: their requests are led to a simulator on this
// machine, so that a program runs as it stands in the document, without a key and without the network.

/** What it answers. It calls the first tool it is offered with what the user wrote about, and then says what came of it. */
export function answerTo({ body, wire }: SimulatedRequest): ScriptRound {
  const text = JSON.stringify(body)
  const offered = text.includes('lookup_order')
  const answered = /shipped|tool_result|function_call_output|"role":"tool"/.test(text)
  if (offered && !answered)
    return [{ text: 'Let me look. ' }, { call: 'lookup_order', input: { id: 'ORD-42' } }]
  if (offered) return 'ORD-42 has shipped.'
  return `Hello over ${wire}.`
}

/** A module that leads every request of a program to the simulator at `url`; loaded before the program. */
export function leadTo(url: string): string {
  const source = `
    const own = globalThis.fetch
    globalThis.fetch = (input, init) => {
      const { hostname, pathname } = new URL(input)
      // A program may have a simulator of its own.
      if (hostname === '127.0.0.1') return own(input, init)
      const path = /\\/(chat\\/completions|responses|messages)$/.exec(pathname)
      if (!path) return Promise.reject(new Error('no network: ' + input))
      // Ours is no server at home, as Ollama is: it wants a key.
      const headers = { authorization: 'Bearer docs', ...init.headers }
      return own(${JSON.stringify(`${url}/v1`)} + path[0], { ...init, headers })
    }`
  return `data:text/javascript,${encodeURIComponent(source)}`
}

/** The keys that the programs expect in their environment. */
export const docsEnv = {
  ANTHROPIC_API_KEY: 'sk-ant-docs',
  OPENAI_API_KEY: 'sk-docs',
  GROQ_API_KEY: 'gsk-docs',
}
