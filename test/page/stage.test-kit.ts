import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build, type Rolldown } from 'vite'
import { onTestFinished } from 'vitest'
import { root } from '../root.ts'

const built = new Map<string, Promise<Map<string, string>>>()

/**
 * Serves a page with a single component, which `script` imports from `packages/inspector`. It has
 * no content security policy, so that tests check the component and not the policy.
 */
export async function openStage(script: string): Promise<string> {
  const files = await (built.get(script) ?? buildStage(script))
  const server = createServer(({ url = '/' }, response) => {
    const [type, body] =
      url === '/' ? ['html', pageOf(files)] : [url.split('.').at(-1), files.get(url.slice(1))]
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': types[type ?? ''] ?? 'text/plain' })
    response.end(body)
  })
  onTestFinished(() => void server.close().closeAllConnections())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const types: Record<string, string> = { html: 'text/html', js: 'text/javascript', css: 'text/css' }

function pageOf(files: ReadonlyMap<string, string>): string {
  const names = [...files.keys()]
  const styles = names
    .filter((name) => name.endsWith('.css'))
    .map((name) => `<link rel=stylesheet href=/${name}>`)
  const scripts = names
    .filter((name) => name.startsWith('stage'))
    .map((name) => `<script type=module src=/${name}></script>`)
  const icon = '<link rel=icon href=data:,>'
  return `<!doctype html><html lang=en><meta charset=utf-8><title>Stage</title>${icon}${styles.join('')}<main id=stage></main>${scripts.join('')}`
}

function buildStage(script: string): Promise<Map<string, string>> {
  const entry = 'virtual:stage'
  const output = build({
    root: join(root, 'packages', 'inspector'),
    configFile: join(root, 'packages', 'inspector', 'vite.config.ts'),
    logLevel: 'error',
    plugins: [
      {
        name: 'stage',
        resolveId: (id) => (id === entry ? join(root, 'packages', 'inspector', 'stage.tsx') : undefined),
        load: (id) =>
          id === join(root, 'packages', 'inspector', 'stage.tsx')
            ? `import './styles/base.css'\n${script}`
            : undefined,
      },
    ],
    build: {
      write: false,
      cssCodeSplit: false,
      rolldownOptions: {
        input: { stage: entry },
        output: { entryFileNames: 'stage.js', chunkFileNames: '[name].js' },
      },
    },
  }).then((result) => {
    const { output: files } = result as Rolldown.RolldownOutput
    return new Map(
      files.map((file) => [file.fileName, file.type === 'chunk' ? file.code : String(file.source)]),
    )
  })
  built.set(script, output)
  return output
}
