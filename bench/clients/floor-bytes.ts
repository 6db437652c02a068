import type { Client } from '../contract.ts'
import { requestOf } from './floor/request.ts'

/** Reads all bytes without parsing them: no client over `fetch` can be cheaper. */
const client: Client = {
  label: 'floor: bytes only',
  packages: [],
  wires: ['chat', 'responses', 'messages'],
  without: { streams: 'it does not see single words' },
  open(setting) {
    return {
      async answer(prompt) {
        const { url, headers, body } = requestOf(setting, [{ role: 'user', content: prompt }])
        const response = await fetch(url, { method: 'POST', headers, body })
        if (!response.ok || !response.body) throw new Error(`${response.status}: ${await response.text()}`)
        for await (const _ of response.body);
      },
    }
  },
}

export default client
