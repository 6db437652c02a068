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
  /** Its content, gzipped, in base64. */
  readonly gzip: string
}

export declare const files: readonly PageFile[]
`

/**
 * Builds the page as a module with its files as data, so that a server needs no file system for them,
 * and bundlers include them. The page uses the built client, so the library must be built first.
 */
export async function buildPage(root: string): Promise<void> {
  // Vite builds for NODE_ENV, which vitest sets to 'test'.
  process.env.NODE_ENV = 'production'
  const built = await build({
    configFile: join(root, 'packages/inspector/vite.config.ts'),
    logLevel: 'warn',
    build: { write: false, sourcemap: false, license: { fileName: licenses } },
  })
  if (!('output' in built)) throw new Error('Vite must build the page exactly once')
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
  if (!type) throw new Error(`the media type of the page's file ${path} is unknown: add it to types`)
  // Weak, since it identifies both the plain and the gzipped form (RFC 9110, 8.8.3.3).
  const etag = `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
  // 3% smaller than zlib at its best, and any client can decompress it.
  const gzip = await gzipAsync(Buffer.from(content as string), { numiterations: 15 })
  return { path, type, etag, gzip: Buffer.from(gzip).toString('base64') }
}
