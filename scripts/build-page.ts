import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipAsync } from '@gfx/zopfli'
import { build, type InlineConfig, type Plugin } from 'vite'
import { standalonePage } from './standalone-page.ts'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const licenses = 'LICENSES.txt'

const declarations = `/** One file of the page. */
export interface PageFile {
  /** \`index.html\`, \`assets/…\`, and \`standalone.html\` for exported threads */
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
  const inspector = join(root, 'packages/inspector')
  const contents = [
    ...(await outputOf(inspector)),
    ['standalone.html', await standaloneHtml(inspector)] as const,
  ].sort(([one], [other]) => (one < other ? -1 : 1))
  const files = await Promise.all(
    contents.filter(([path]) => path !== licenses).map(([path, content]) => pageFile(path, content)),
  )

  const page = join(root, 'packages/millrace/dist/page')
  mkdirSync(page, { recursive: true })
  writeFileSync(join(page, 'files.js'), `export const files = ${JSON.stringify(files, null, 2)}\n`)
  writeFileSync(join(page, 'files.d.ts'), declarations)
  for (const [path, content] of contents) if (path === licenses) writeFileSync(join(page, path), content)
}

type Output = readonly (readonly [path: string, content: string | Uint8Array])[]

async function outputOf(inspector: string, { plugins, build: more }: InlineConfig = {}): Promise<Output> {
  const built = await build({
    configFile: join(inspector, 'vite.config.ts'),
    logLevel: 'warn',
    build: { write: false, sourcemap: false, license: { fileName: licenses }, ...more },
    ...(plugins && { plugins }),
  })
  if (!('output' in built)) throw new Error('Vite must build the page exactly once')
  return built.output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source])
}

/** The page for an exported thread, in one file. */
async function standaloneHtml(inspector: string): Promise<string> {
  const output = await outputOf(inspector, {
    plugins: [withoutServer(inspector)],
    build: {
      cssCodeSplit: false,
      rolldownOptions: {
        input: join(inspector, 'standalone/main.tsx'),
        output: { codeSplitting: false },
      },
    },
  })
  const only = (ending: string) => {
    const found = output.filter(([path]) => path.endsWith(ending))
    if (found.length !== 1) throw new Error(`the page for exports must have exactly one ${ending} file`)
    return String(found[0]?.[1]).trim()
  }
  return standalonePage({ script: only('.js'), style: only('.css'), licenses: only(licenses) })
}

/** Replaces the modules that need a server with those in `standalone`. */
function withoutServer(inspector: string): Plugin {
  const replaced = ['api.ts', 'clock.ts', 'extra-view.tsx']
  return {
    name: 'without-server',
    enforce: 'pre',
    async resolveId(source, importer) {
      const name = replaced.find((one) => source.endsWith(`/${one}`))
      const found = name && importer && (await this.resolve(source, importer, { skipSelf: true }))
      return found && found.id === join(inspector, name)
        ? join(inspector, 'standalone', name.replace('.tsx', '.ts'))
        : undefined
    },
  }
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
