import { Agent, type RequestListener, request as requestFrom } from 'node:http'
import type { ServerConfig } from './server.ts'

/** Passes bytes on in both directions, and knows nothing of what they mean. */
export function proxy({ baseURL }: Pick<ServerConfig, 'baseURL'>): RequestListener {
  const agent = new Agent({ keepAlive: true })
  return (request, response) => {
    const { method, url = '', headers } = request
    const target = `${baseURL}${url.replace(/^\/v1/, '')}`
    const { host: _, ...passed } = headers
    const onward = requestFrom(target, { agent, method, headers: passed }, (answer) => {
      // These are about the connection to the provider, not the one to the client.
      const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...own } = answer.headers
      response.writeHead(answer.statusCode ?? 502, own)
      answer.pipe(response)
    })
    onward.on('error', (error) => response.destroy(error))
    request.pipe(onward)
  }
}
