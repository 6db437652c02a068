import type { PageFile } from '#page'
import type { Route } from '../protocols/index.ts'
import { httpError } from '../protocols/index.ts'

/**
 * The page only runs its own scripts and only talks to its own server. Text, such as the output of
 * a model, can never become a script (Trusted Types). `'self'` includes WebSockets to the same host
 * (CSP 3, 6.7.2.8), and `script-src` includes audio worklets (6.1.11).
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

const unusedFeatures = ['camera', 'display-capture', 'geolocation', 'hid', 'midi', 'payment', 'serial', 'usb']

const pageHeaders = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  // The browser still asks the user before it opens the microphone.
  'permissions-policy': ['microphone=(self)', ...unusedFeatures.map((feature) => `${feature}=()`)].join(', '),
  vary: 'accept-encoding',
}

/** Revalidated on each request, and sent only if it has changed. */
const revalidate = 'no-cache'
/** File names contain a hash of the content. */
const cacheForever = 'public, max-age=31536000, immutable'

/** Otherwise workerd compresses the body again. Other runtimes ignore it. */
const isEncoded = { encodeBody: 'manual' }

/**
 * The built-in chat and inspector page. It contains no secrets: it loads its data through the API.
 */
export function pageRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/',
      isPublic: true,
      handle: ({ request }) => serveFile('index.html', request, revalidate),
    },
    {
      method: 'GET',
      path: '/standalone.html',
      isPublic: true,
      handle: ({ request }) => serveFile('standalone.html', request, revalidate),
    },
    {
      method: 'GET',
      path: '/assets/:name',
      isPublic: true,
      handle: ({ request, params }) => serveFile(`assets/${params.name}`, request, cacheForever),
    },
  ]
}

/** The page for exported threads, with slots for the thread: see `fillThreadHtml`. */
export async function standaloneTemplate(): Promise<string> {
  const file = await findFile('standalone.html')
  if (!file) throw new Error('the package was built without standalone.html')
  return new TextDecoder().decode(await bodyOf(file, false))
}

async function findFile(path: string): Promise<PageFile | undefined> {
  // Loaded on demand: many servers never serve the page.
  const { files } = await import('#page')
  return files.find((one) => one.path === path)
}

async function serveFile(path: string, request: Request, cacheControl: string): Promise<Response> {
  const file = await findFile(path)
  if (!file) throw httpError(404, 'not_found', 'no route matches this path')
  const { etag, type } = file
  const headers = { ...pageHeaders, etag, 'cache-control': cacheControl }
  if (etagMatches(etag, request.headers.get('if-none-match')))
    return new Response(null, { status: 304, headers })

  const useGzip = acceptsGzip(request.headers.get('accept-encoding'))
  const body = await bodyOf(file, useGzip)
  return new Response(body, {
    ...isEncoded,
    headers: {
      ...headers,
      ...(useGzip && { 'content-encoding': 'gzip' }),
      'content-type': type,
      'content-length': String(body.byteLength),
    },
  })
}

/** Compared weakly (RFC 9110, 13.1.2). */
function etagMatches(etag: string, known: string | null): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return (known ?? '').split(',').some((one) => one.trim() === '*' || opaque(one) === opaque(etag))
}

/** RFC 9110, 12.5.3. A client without `accept-encoding` gets it uncompressed. */
function acceptsGzip(accepted: string | null): boolean {
  const weights = new Map(
    (accepted ?? '').split(',').map((one) => {
      const [coding = '', weight = ''] = one.toLowerCase().split(';')
      return [coding.trim(), Number(/q\s*=\s*([\d.]+)/.exec(weight)?.[1] ?? 1)]
    }),
  )
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0
}

/** Cached by encoding and path: the page is public, so requests for it must be cheap. */
const bodies = new Map<string, Promise<ArrayBuffer>>()

function bodyOf({ path, gzip }: PageFile, useGzip: boolean): Promise<ArrayBuffer> {
  const key = `${useGzip ? 'gzip' : 'plain'} ${path}`
  const made = bodies.get(key) ?? makeBody(gzip, useGzip)
  bodies.set(key, made)
  return made
}

async function makeBody(gzip: string, useGzip: boolean): Promise<ArrayBuffer> {
  const zipped = Uint8Array.from(atob(gzip), (character) => character.charCodeAt(0))
  return useGzip ? zipped.buffer : unzip(zipped)
}

function unzip(zipped: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const plain = new Blob([zipped]).stream().pipeThrough(new DecompressionStream('gzip'))
  return new Response(plain).arrayBuffer()
}
