import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { WireListener } from '../../protocol/index.ts'

interface Tapped {
  readonly body: string
  status: number
  answer: string
}

/** Stands before a provider and takes down every byte that goes either way. It is gone when the test is over. */
export async function wiretap(target: string) {
  const exchanges: Tapped[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const tapped: Tapped = { body: Buffer.concat(chunks).toString(), status: 0, answer: '' }
    exchanges.push(tapped)
    const { method, url = '', headers } = request
    const onward = sendRequest(new URL(url, target), { method, headers }, (answer) => {
      const heard: Buffer[] = []
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.on('data', (chunk: Buffer) => {
        heard.push(chunk)
        tapped.answer = Buffer.concat(heard).toString()
        response.write(chunk)
      })
      answer.on('end', () => response.end())
      answer.on('error', () => response.destroy())
      tapped.status = answer.statusCode ?? 0
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    onward.end(Buffer.concat(chunks))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { exchanges, url, baseURL: `${url}/v1` }
}

interface Heard {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  status?: number
  answerHeaders?: Readonly<Record<string, string>>
  /** In the pieces in which it was told. */
  readonly pieces: string[]
}

/** Writes down what it is told. */
export function wireListener(): { readonly heard: readonly Heard[]; readonly wire: WireListener } {
  const heard: Heard[] = []
  return {
    heard,
    wire: {
      sent: (request) => void heard.push({ ...request, pieces: [] }),
      answered({ status, headers }) {
        Object.assign(heard.at(-1) ?? {}, { status, answerHeaders: headers })
      },
      received: (text) => void heard.at(-1)?.pieces.push(text),
    },
  }
}
