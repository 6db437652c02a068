import type { SimulatedRequest } from '@millrace/simulator'
import type { ScriptRound } from '../packages/millrace/src/testing/index.ts'

// The provider for the programs in the docs, whichever they name: their requests are redirected to
// a simulator on this machine, so that a program runs unchanged, without a key and without the
// network.

/** Its answers: it calls the tool for orders if there is one, and then reports the result. */
export function answerTo({ body, wire }: SimulatedRequest): ScriptRound {
  const text = JSON.stringify(body)
  const offered = text.includes('lookup_order')
  const answered = /shipped|tool_result|function_call_output|"role":"tool"/.test(text)
  if (offered && !answered)
    return [{ text: 'Let me look. ' }, { call: 'lookup_order', input: { id: 'ORD-42' } }]
  if (offered) return 'ORD-42 has shipped.'
  return `Hello over ${wire}.`
}

/**
 * A module that redirects every request of a program to the simulator at `url`; loaded before the
 * program.
 */
export function redirectTo(url: string): string {
  const source = `
    const own = globalThis.fetch
    globalThis.fetch = (input, init) => {
      const { hostname, pathname } = new URL(input)
      // A program may have its own simulator.
      if (hostname === '127.0.0.1') return own(input, init)
      const path = /\\/(chat\\/completions|responses|messages)$/.exec(pathname)
      if (!path) return Promise.reject(new Error('no network: ' + input))
      // Unlike a local server such as Ollama, the simulator requires a key.
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
