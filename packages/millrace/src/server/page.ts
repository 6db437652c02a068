import type { PageFile } from '#page'
import type { Route } from '../protocols/index.ts'
import { httpError } from '../protocols/index.ts'

/**
 * The page runs its own scripts and talks to its own server, and that is all: no script is made of text, whatever a model writes
 * (Trusted Types), and nothing is asked of anybody else. `'self'` holds for WebSockets to the same host too (CSP 3, 6.7.2.8), and
 * scripts are audio worklets as well (6.1.11).
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const unused = ['camera', 'display-capture', 'geolocation', 'hid', 'midi', 'payment', 'serial', 'usb']

const pageHeaders = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  // Whoever speaks to an agent is asked by the browser first.
  'permissions-policy': ['microphone=(self)', ...unused.map((feature) => `${feature}=()`)].join(', '),
  vary: 'accept-encoding',
}

/** Asked for anew each time, and sent only when it is another. */
const alwaysFresh = 'no-cache'
/** Its name changes with what it says. */
const forEver = 'public, max-age=31536000, immutable'

/** The chat and inspector that is built into the package. It holds nothing secret: what it shows, it asks for like anybody else. */
export function pageRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/',
      isPublic: true,
      handle: ({ request }) => giveFile('index.html', request, alwaysFresh),
    },
    {
      method: 'GET',
      path: '/assets/:name',
      isPublic: true,
      handle: ({ request, params }) => giveFile(`assets/${params.name}`, request, forEver),
    },
  ]
}

async function giveFile(path: string, request: Request, cacheControl: string): Promise<Response> {
  // Here and not above: many a server is never asked for it.
  const { files } = await import('#page')
  const file = files.find((one) => one.path === path)
  if (!file) throw httpError(404, 'not_found', 'there is nothing at this address')
  const { etag, type } = file
  const headers = { ...pageHeaders, etag, 'cache-control': cacheControl }
  if (isKnown(etag, request.headers.get('if-none-match'))) return new Response(null, { status: 304, headers })

  const zips = takesGzip(request.headers.get('accept-encoding'))
  const body = await bodyOf(file, zips)
  return new Response(body, {
    headers: {
      ...headers,
      ...(zips && { 'content-encoding': 'gzip' }),
      'content-type': type,
      'content-length': String(body.byteLength),
    },
  })
}

/** Compared weakly (RFC 9110, 13.1.2). */
function isKnown(etag: string, known: string | null): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return (known ?? '').split(',').some((one) => one.trim() === '*' || opaque(one) === opaque(etag))
}

/** RFC 9110, 12.5.3. Whoever says nothing gets it plain. */
function takesGzip(accepted: string | null): boolean {
  const weights = new Map(
    (accepted ?? '').split(',').map((one) => {
      const [coding = '', weight = ''] = one.toLowerCase().split(';')
      return [coding.trim(), Number(/q\s*=\s*([\d.]+)/.exec(weight)?.[1] ?? 1)]
    }),
  )
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0
}

/** By what they were made of. Anybody may ask, as often as they like, so they are made once. */
const bodies = new Map<string, Promise<ArrayBuffer>>()

function bodyOf({ path, gzip }: PageFile, zips: boolean): Promise<ArrayBuffer> {
  const key = `${zips ? 'gzip' : 'plain'} ${path}`
  const made = bodies.get(key) ?? makeBody(gzip, zips)
  bodies.set(key, made)
  return made
}

async function makeBody(gzip: string, zips: boolean): Promise<ArrayBuffer> {
  const zipped = Uint8Array.from(atob(gzip), (character) => character.charCodeAt(0))
  return zips ? zipped.buffer : unzip(zipped)
}

function unzip(zipped: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const plain = new Blob([zipped]).stream().pipeThrough(new DecompressionStream('gzip'))
  return new Response(plain).arrayBuffer()
}
