import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { WireListener } from '../../protocol/index.ts'

interface Tapped {
  readonly body: string
  status: number
  response: string
}

/** A proxy that records every byte in both directions. Closed when the test ends. */
export async function wiretap(target: string) {
  const exchanges: Tapped[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const tapped: Tapped = { body: Buffer.concat(chunks).toString(), status: 0, response: '' }
    exchanges.push(tapped)
    const { method, url = '', headers } = request
    const upstream = sendRequest(new URL(url, target), { method, headers }, (answer) => {
      const received: Buffer[] = []
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.on('data', (chunk: Buffer) => {
        received.push(chunk)
        tapped.response = Buffer.concat(received).toString()
        response.write(chunk)
      })
      answer.on('end', () => response.end())
      answer.on('error', () => response.destroy())
      tapped.status = answer.statusCode ?? 0
    })
    upstream.on('error', () => response.destroy())
    response.on('close', () => upstream.destroy())
    upstream.end(Buffer.concat(chunks))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { exchanges, url, baseURL: `${url}/v1` }
}

interface Captured {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  status?: number
  responseHeaders?: Readonly<Record<string, string>>
  /** The response text, in the pieces in which it was reported. */
  readonly pieces: string[]
}

/** A listener that records what it gets. */
export function wireListener(): { readonly captured: readonly Captured[]; readonly wire: WireListener } {
  const captured: Captured[] = []
  return {
    captured,
    wire: {
      sent: (request) => void captured.push({ ...request, pieces: [] }),
      responded({ status, headers }) {
        Object.assign(captured.at(-1) ?? {}, { status, responseHeaders: headers })
      },
      received: (text) => void captured.at(-1)?.pieces.push(text),
    },
  }
}
