import { describe, expect, test } from 'vitest'
import { closest } from './closest.ts'

const names = ['get_weather', 'search_orders', 'refund', 'send_email']

describe('a name that a model misremembers', () => {
  test.each([
    ['getWeather', 'get_weather'],
    ['get-weather', 'get_weather'],
    ['GET_WEATHER', 'get_weather'],
    ['get_wether', 'get_weather'],
    ['weather', 'get_weather'],
    ['search_order', 'search_orders'],
    ['order_search', undefined],
    ['refunds', 'refund'],
    ['sendEmail', 'send_email'],
    ['delete_everything_now', undefined],
    ['x', undefined],
  ])('%s is most like %s', (wanted, found) => {
    expect(closest(wanted, names)).toBe(found)
  })

  test('the nearest of several is taken, and the first of those equally near', () => {
    expect(closest('read_file', ['read_files_now', 'read_fole', 'read_fule'])).toBe('read_fole')
    expect(closest('read_file', ['read_fule', 'read_fole'])).toBe('read_fule')
    expect(closest('read_file', ['read_fule', 'READ-FILE'])).toBe('READ-FILE')
  })

  test('there is none among none', () => {
    expect(closest('anything', [])).toBeUndefined()
  })

  test('a very long name is like none, however many of its letters may be wrong', () => {
    expect(closest('a'.repeat(1_000_000), ['refund'])).toBeUndefined()
  })

  test('a name without letters is like none', () => {
    expect(closest('', ['refund'])).toBeUndefined()
    expect(closest('天気予報', ['refund'])).toBeUndefined()
  })
})
