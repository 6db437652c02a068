import { Misuse, type Option } from '../../harness/options.ts'

const known = ['sqlite', 'postgres']

/** Which database the part `load` measures. */
export const storeOption: Option<string> = {
  value: 'name',
  help: 'sqlite (the default), or postgres: several processes with one PostgreSQL',
  partial: false,
  read(value = 'sqlite', option) {
    if (typeof value === 'string' && known.includes(value)) return value
    throw new Misuse(`--${option}: unknown name "${value}"; use ${known.join(', ')}`)
  },
}
