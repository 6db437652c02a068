import { pathToFileURL } from 'node:url'
import { peakMemory } from '../harness/measure.ts'
import { NotOffered, oneCase, type Workload } from './workload.ts'

// Imports only types and the clock; anything else would already be warm when a client's turn comes.

/** What an import adds to the start of a program and to a bundle. */
export const coldImport: Workload = {
  name: 'import',
  title: 'A cold import, with one provider',
  needs: 'imports',
  figures: [
    { key: 'cpu', label: 'CPU', unit: 'ms', ratio: true },
    { key: 'wall', label: 'wall', unit: 'ms' },
    { key: 'initial', label: 'minified and gzipped', unit: 'KB' },
    { key: 'all', label: 'with lazy chunks', unit: 'KB' },
    { key: 'peak', label: 'peak memory', unit: 'MB' },
  ],
  columns: 'figures',
  repeat: { full: 5, quick: 1, tiny: 1 },
  wires: { full: 'one', quick: 'one', tiny: 'one' },
  briefly: false,
  cases: oneCase(60_000, { full: {}, quick: {}, tiny: {} }, () => ''),
  async run({ module, bundle }) {
    if (!module) throw new NotOffered('there is nothing to import')
    const { href } = pathToFileURL(module)
    const cpu = process.cpuUsage()
    const start = performance.now()
    await import(href)
    const wall = performance.now() - start
    const { user, system } = process.cpuUsage(cpu)
    const peak = peakMemory()
    const figures = { cpu: (user + system) / 1000, wall, peak }
    if (!bundle) return figures
    const { bundleSize } = await import('./bundle-size.ts')
    return { ...figures, ...(await bundleSize(module)) }
  },
}
