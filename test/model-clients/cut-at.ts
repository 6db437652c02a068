import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * A proxy that cuts the first connection on which the server sends this text, right after it: the
 * size of what comes before differs from client to client, so a number of bytes says nothing.
 */
export async function cutAt(port: number, text: string) {
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer((incoming) => {
    const outgoing = connect(port, '127.0.0.1')
    for (const socket of [incoming, outgoing]) {
      open.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        open.delete(socket)
        incoming.destroy()
        outgoing.destroy()
      })
    }
    let sent = ''
    let isOver = false
    incoming.pipe(outgoing)
    outgoing.on('data', (chunk: Buffer) => {
      if (isOver) return
      const before = sent.length
      sent += chunk.toString('latin1')
      const at = isCut ? -1 : sent.indexOf(text)
      if (at < 0) return incoming.write(chunk)
      isCut = isOver = true
      incoming.write(chunk.subarray(0, at + text.length - before), () => incoming.destroySoon())
    })
    outgoing.on('end', () => incoming.end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isCut: () => isCut,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
