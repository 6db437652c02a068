import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'

/** Bundles an export as a page would, without React and `millrace`. */
async function bundled(only: string): Promise<string> {
  const entry = 'virtual:page'
  const index = fileURLToPath(new URL('./index.ts', import.meta.url))
  const bundle = await rolldown({
    input: entry,
    platform: 'browser',
    external: ['react', 'millrace/client', 'millrace/view'],
    plugins: [
      {
        name: 'page',
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? `export { ${only} } from ${JSON.stringify(index)}` : null),
      },
    ],
  })
  const { output } = await bundle.generate({ format: 'es', minify: true })
  await bundle.close()
  return output[0].code
}

test('the hooks are small, and a page without voice is smaller', async () => {
  const [all, thread] = await Promise.all([bundled('useThread, useVoice'), bundled('useThread')])
  expect(gzipSync(all).length).toBeLessThan(5_600)
  expect(gzipSync(thread).length).toBeLessThan(4_600)
})

test('a page loads nothing but React and the client', async () => {
  const imported = [...(await bundled('useThread, useVoice')).matchAll(/from\s*"([^"]+)"/g)].map(
    ([, from]) => from,
  )
  expect([...new Set(imported)].sort()).toEqual(['millrace/client', 'millrace/view', 'react'])
})
