import { Agent } from 'undici'
import type { Client, Listener } from '../contract.ts'
import { readers, type Turn } from './floor/readers.ts'
import { type FloorRequest, floorLoop, requestOf } from './floor/request.ts'

/**
 * Below `fetch`: undici's dispatcher, server-sent events split by hand, and `JSON.parse`. The cheapest
 * way that still reads any valid frame.
 */
const client: Client = {
  label: 'floor: dispatcher',
  packages: ['undici'],
  wires: ['chat', 'responses', 'messages'],
  open(setting) {
    const agent = new Agent({ allowH2: false })
    const read = readers[setting.wire]

    function send({ url, headers, body }: FloorRequest, listener: Listener): Promise<Turn> {
      const { origin, pathname } = new URL(url)
      const turn: Turn = { text: '', calls: [] }
      const decoder = new TextDecoder()
      let rest = ''
      function take(chunk: Uint8Array) {
        const all = rest + decoder.decode(chunk, { stream: true })
        let at = 0
        for (let end = all.indexOf('\n\n'); end >= 0; end = all.indexOf('\n\n', at)) {
          const data = all.indexOf('data: ', at) + 6
          read(all.slice(data, end), turn, listener)
          at = end + 2
        }
        rest = all.slice(at)
      }
      return new Promise((resolve, reject) => {
        agent.dispatch(
          { origin, path: pathname, method: 'POST', headers, body },
          {
            onRequestStart() {},
            onResponseStart(_, status) {
              if (status !== 200) reject(new Error(`status ${status}`))
            },
            onResponseData: (_, chunk) => take(chunk),
            onResponseEnd: () => resolve(turn),
            onResponseError: (_, error) => reject(error),
          },
        )
      })
    }

    return {
      async answer(prompt, listener) {
        await send(requestOf(setting, [{ role: 'user', content: prompt }]), listener)
      },
      loop: (prompt, listener) => floorLoop(setting, prompt, (request) => send(request, listener)),
    }
  },
}

export default client
