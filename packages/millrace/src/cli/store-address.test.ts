import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resumeHint } from './hints.ts'
import { shownStore, storeAddress } from './store-address.ts'

const env = { HOME: '/home/ada', XDG_DATA_HOME: '/data' }
const file = (path: string) => ({ kind: 'sqlite', path: resolve(path) })
const postgres = (url: string) => ({ kind: 'postgres', url })

describe('where threads are stored', () => {
  test.each([
    ['threads.db', file('threads.db')],
    ['/var/threads.db', file('/var/threads.db')],
    ['sqlite:threads.db', file('threads.db')],
    ['sqlite:///var/threads.db', file('/var/threads.db')],
    ['./with:colon.db', file('with:colon.db')],
    ['postgres://db/app', postgres('postgres://db/app')],
    [
      'postgresql://ada:x@db:5433/app?sslmode=require',
      postgres('postgresql://ada:x@db:5433/app?sslmode=require'),
    ],
  ])('--store %s', (store, address) => {
    expect(storeAddress({ store }, env)).toEqual(address)
  })

  test('a flag comes before the environment, and MILLRACE_STORE before MILLRACE_DATA', () => {
    const both = { ...env, MILLRACE_STORE: 'postgres://db/app', MILLRACE_DATA: 'data.db' }
    expect(storeAddress({}, both)).toEqual(postgres('postgres://db/app'))
    expect(storeAddress({ data: 'own.db' }, both)).toEqual(file('own.db'))
    expect(storeAddress({ store: 'own.db' }, both)).toEqual(file('own.db'))
    expect(storeAddress({}, { ...both, MILLRACE_STORE: ' ' })).toEqual(file('data.db'))
    expect(storeAddress({}, env)).toEqual(file(join('/data', 'millrace', 'threads.db')))
  })

  test('notifications come from another address, if there is PgBouncer in between', () => {
    const pooled = { ...env, MILLRACE_STORE: 'postgres://pool/app', MILLRACE_LISTEN_URL: 'postgres://db/app' }
    const listening = (listenUrl: string) => ({ ...postgres('postgres://pool/app'), listenUrl })
    expect(storeAddress({}, pooled)).toEqual(listening('postgres://db/app'))
    expect(storeAddress({ 'listen-url': 'postgres://b/app' }, pooled)).toEqual(listening('postgres://b/app'))
    expect(storeAddress({ data: 'own.db' }, pooled)).toEqual(file('own.db'))
    expect(() => storeAddress({ 'listen-url': 'redis://b' }, pooled)).toThrow(/--listen-url must be postgres/)
    expect(() => storeAddress({ 'listen-url': 'db:5432' }, pooled)).toThrow(/--listen-url must be/)
  })

  test('DATABASE_URL, which may belong to another program, is not used', () => {
    expect(storeAddress({}, { ...env, DATABASE_URL: 'postgres://db/app' })).toMatchObject({ kind: 'sqlite' })
  })

  test.each([
    [{ store: 'a.db', data: 'b.db' }, /--store and --data cannot be combined/],
    [
      { store: 'mysql://db/app' },
      /--store must be postgres:\/\/…, sqlite:FILE or the path of a file, not mysql:/,
    ],
    [{ store: 'sqlite:' }, /--store needs a file/],
    [{ store: '' }, /--store needs a file/],
  ])('%j is rejected', (flags, message) => {
    expect(() => storeAddress(flags, env)).toThrow(message)
  })

  test('a URL that cannot be read is not repeated, since it contains a password', () => {
    const store = 'postgres://ada:s3cret#word@db/app'
    expect(() => storeAddress({ store }, env)).toThrow(/^--store is not a valid URL: percent-encode/)
    expect(() => storeAddress({ store }, env)).not.toThrow(/s3cret/)
  })

  test.each([
    ['postgres://ada:s3cret@db:5433/app', 'postgres://ada:***@db:5433/app'],
    ['postgres://db/app?user=ada&password=s3cret', 'postgres://db/app?user=ada&password=***'],
    ['postgres://db/app', 'postgres://db/app'],
  ])('%s is shown without its password', (store, shown) => {
    expect(shownStore(storeAddress({ store }, env))).toBe(shown)
    expect(resumeHint('mine', { store })).not.toContain('s3cret')
  })
})
