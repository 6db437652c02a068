import { arch, cpus, platform, totalmem } from 'node:os'

/** In words, without a name or an address. */
export function machine(): string {
  const cores = cpus()
  const model = cores[0]?.model.trim()
  const memory = Math.round(totalmem() / 2 ** 30)
  const named = model && model !== 'unknown' ? `, ${model}` : ''
  return `${platform()} on ${arch()}, ${cores.length} cores${named}, ${memory} GB of memory`
}
