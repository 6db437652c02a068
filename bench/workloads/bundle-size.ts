import { isBuiltin } from 'node:module'
import { gzipSync } from 'node:zlib'

/**
 * In KB, minified and gzipped: what is loaded at once, and in total. Node's modules are left out.
 */
export async function bundleSize(input: string): Promise<{ initial: number; all: number }> {
  // Imported here, so that it is not loaded while an import is measured.
  const { rolldown } = await import('rolldown')
  const build = await rolldown({ input, platform: 'node', external: isBuiltin, logLevel: 'silent' })
  const { output } = await build.generate({ format: 'esm', minify: true })
  await build.close()
  const chunks = new Map(
    output.filter((file) => file.type === 'chunk').map((chunk) => [chunk.fileName, chunk]),
  )

  const initial = new Set<string>()
  function visit(fileName: string) {
    const chunk = chunks.get(fileName)
    if (!chunk || initial.has(fileName)) return
    initial.add(fileName)
    for (const next of chunk.imports) visit(next)
  }
  for (const chunk of chunks.values()) if (chunk.isEntry) visit(chunk.fileName)

  const size = (names: Iterable<string>) =>
    Array.from(names, (name) => gzipSync(chunks.get(name)?.code ?? '').length).reduce((a, b) => a + b, 0) /
    1000
  return { initial: size(initial), all: size(chunks.keys()) }
}
