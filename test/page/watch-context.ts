import type { BrowserContext } from 'playwright-core'

/**
 * Collects console errors and warnings (which include violations of the content security policy),
 * uncaught errors, and requests to other origins. The returned array grows.
 */
export function watchContext(context: BrowserContext, origin: string): readonly string[] {
  const complaints: string[] = []
  const checkOrigin = (address: string) => {
    const { protocol, origin: asked } = new URL(address.replace(/^ws/, 'http'))
    if (protocol.startsWith('http') && asked !== origin) complaints.push(`request to ${address}`)
  }
  context.on('console', (message) => {
    const type = message.type()
    if (type !== 'error' && type !== 'warning') return
    complaints.push(`${type}: ${message.text()} (${message.location().url})`)
  })
  context.on('weberror', (thrown) => void complaints.push(`thrown: ${thrown.error().stack}`))
  context.on('request', (request) => checkOrigin(request.url()))
  context.on('page', (page) => void page.on('websocket', (socket) => checkOrigin(socket.url())))
  return complaints
}
