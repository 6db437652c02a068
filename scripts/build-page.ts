import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipAsync } from '@gfx/zopfli'
import { build } from 'vite'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const licenses = 'LICENSES.txt'

const declarations = `/** One file of the page. */
export interface PageFile {
  /** \`index.html\`, \`assets/…\` */
  readonly path: string
  readonly type: string
  readonly etag: string
  /** What it says: gzipped, in base64. */
  readonly gzip: string
}

export declare const files: readonly PageFile[]
`

/**
 * The page as a module: its files are data, so that a server finds them without a file system, and whatever bundles the server
 * carries them along. It is built of the library's own client, so the library comes first.
 */
export async function buildPage(root: string): Promise<void> {
  // Vite builds for what NODE_ENV says, and vitest sets it to 'test'.
  process.env.NODE_ENV = 'production'
  const built = await build({
    configFile: join(root, 'packages/inspector/vite.config.ts'),
    logLevel: 'warn',
    build: { write: false, sourcemap: false, license: { fileName: licenses } },
  })
  if (!('output' in built)) throw new Error('Vite is to build the page once, and once only')
  const contents = built.output
    .map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1))
  const files = await Promise.all(
    contents.filter(([path]) => path !== licenses).map(([path, content]) => pageFile(path, content)),
  )

  const page = join(root, 'packages/millrace/dist/page')
  mkdirSync(page, { recursive: true })
  writeFileSync(join(page, 'files.js'), `export const files = ${JSON.stringify(files, null, 2)}\n`)
  writeFileSync(join(page, 'files.d.ts'), declarations)
  for (const [path, content] of contents) if (path === licenses) writeFileSync(join(page, path), content)
}

async function pageFile(path: string, content: string | Uint8Array) {
  const type = types[extname(path)]
  if (!type) throw new Error(`the page has a file ${path}, and nobody knows its media type: add it to types`)
  // Weak, since it names the plain and the gzipped form alike (RFC 9110, 8.8.3.3).
  const etag = `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
  // Three in a hundred shorter than what zlib makes at its best, and unpacked in the same way.
  const gzip = await gzipAsync(Buffer.from(content as string), { numiterations: 15 })
  return { path, type, etag, gzip: Buffer.from(gzip).toString('base64') }
}
