import type { BrowserContext } from 'playwright-core'

/**
 * What should not be seen in a browser, as it comes: errors and warnings of the console (whatever the page's policy forbids is one), errors
 * that nobody caught, and whatever is asked of another origin.
 */
export function watchContext(context: BrowserContext, origin: string): readonly string[] {
  const complaints: string[] = []
  const checkOrigin = (address: string) => {
    const { protocol, origin: asked } = new URL(address.replace(/^ws/, 'http'))
    if (protocol.startsWith('http') && asked !== origin) complaints.push(`it asked for ${address}`)
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
