import type { Language } from './language.ts'
import { words } from './language.ts'

// Only what is common, for these languages.

export const turkish: Language = {
  code: 'tr',
  titles: words('Sn Doç Prof Yrd Av Uzm Op Ecz örn bkz Bkz Hz Org Gen'),
  counted: words('s sf sy cilt md tel Tel no No'),
  either: words('Cad Sok Mah Blv Apt A.Ş Şti Ltd M.Ö M.S yy dk sn'),
  enders: words('vb vd vs'),
  starters: words(`
    O Onlar Ben Sen Biz Siz Bu Şu Bunlar Bir Ama Fakat Ve Veya Sonra Daha O'nun Onun Eğer Çünkü Ne Kim Nerede Neden Niçin Nasıl Hangi Benim
    Senin Bizim Hayır Evet Bugün Dün Yarın Şimdi Ayrıca Her Herkes Hepsi Bazı Çok Ancak Böylece Bunun Teşekkürler Lütfen
  `),
  common: words('ve bir bu için ile çok da de var değil ne gibi daha olarak mi ama sonra'),
}

export const hungarian: Language = {
  code: 'hu',
  titles: words('pl ún kb dr Dr id ifj özv vö ill'),
  counted: words('sz old o fej tel'),
  either: words('u út krt em Kft Bt Rt Zrt Nyrt i.e i.sz Ft'),
  enders: words('stb'),
  starters: words(
    'Ő Ők Én Te Mi Ti Ez Az A De És Vagy Majd Aztán Ha Amikor Mert Hogy Ki Hol Miért Hogyan Nem Igen Ma Tegnap Holnap Most Is Itt Ott Egy',
  ),
  common: words('és hogy nem egy az van volt ez meg csak de is'),
}

export const finnish: Language = {
  code: 'fi',
  titles: words('esim ns mm n ks vrt tri prof hra rva'),
  counted: words('s nro klo puh kpl'),
  either: words('eKr jKr milj mrd v'),
  enders: words('jne yms ym jms'),
  starters: words(
    'Hän He Minä Sinä Me Te Se Ne Tämä Tuo Nämä Mutta Ja Tai Sitten Kun Jos Koska Että Mikä Kuka Missä Miksi Miten Ei Kyllä Tänään Eilen Nyt',
  ),
  common: words('ja on ei se että hän oli ovat mutta kun niin myös'),
}

export const romanian: Language = {
  code: 'ro',
  titles: words('dl dna dra d-na dr prof ing de.ex str bd'),
  counted: words('nr pag art cap fig tel'),
  either: words('î.Hr d.Hr S.A S.R.L'),
  enders: words('etc ș.a'),
  starters: words(
    'El Ea Ei Ele Eu Tu Noi Voi Acest Această Aceasta Dar Și Sau Apoi Atunci Când Dacă Cum În Pe Cu Fără Pentru De La Ce Cine Unde Nu Da Azi Ieri Acum',
  ),
  common: words('și nu este în pe cu că la de un sunt mai dar din'),
}

export const indonesian: Language = {
  code: 'id',
  titles: words('Bpk Bp Ny Sdr Tn Drs Ir Jl Hj Prof Gg'),
  counted: words('hlm hal no No tel'),
  either: words('Tbk S.H S.E M.Si Rp'),
  enders: words('dll dst dsb'),
  starters: words(
    'Dia Ia Mereka Saya Aku Kamu Anda Kami Kita Ini Itu Tetapi Tapi Dan Atau Lalu Kemudian Jika Kalau Ketika Karena Di Ke Dari Pada Apa Siapa Tidak Ya Hari Sekarang',
  ),
  common: words('yang dan di itu dengan untuk tidak ini dari dalam saya'),
}

export const vietnamese: Language = {
  code: 'vi',
  titles: words('TS ThS GS PGS BS TP Tp Q P Đ KTS CN'),
  counted: words('tr số'),
  either: words('TNHH'),
  enders: words('v.v vv'),
  starters: words(
    'Tôi Anh Chị Em Ông Bà Nó Họ Chúng Đây Đó Nhưng Và Hoặc Sau Khi Nếu Vì Trong Ở Từ Với Không Có Hôm Bây',
  ),
  common: words('là và của có không được cho một tôi người trong với các'),
}

export const greek: Language = {
  code: 'el',
  titles: words('κ κα κος Δρ δρ Καθ καθ π.χ δηλ βλ π.δ λ.χ υπ'),
  counted: words('αρ αριθ σελ κεφ τηλ άρθ εικ'),
  either: words('μ.μ π.μ μ.Χ π.Χ Α.Ε Η.Π.Α χιλ εκ δισ'),
  enders: words('κ.λπ κλπ κ.ά κ.τ.λ κτλ κ.ο.κ'),
  starters: words(
    'Αυτός Αυτή Αυτό Αυτοί Εγώ Εσύ Εμείς Εσείς Ο Η Το Οι Τα Τον Την Ένας Μια Ένα Αλλά Και Ή Μετά Τότε Όταν Αν Πώς Γιατί Στο Στη Στην Στον Στις Σε Από Για Με Χωρίς Τι Ποιος Πού Δεν Όχι Ναι Σήμερα Χθες Τώρα Είναι Ήταν Έχει Τις Τους',
  ),
  common: words('και το να του της είναι για με από στο δεν'),
}

/** Scripts without case have no capitals to rely on: only titles are listed. */
export const uncased: Language = {
  code: '',
  titles: words(`
    डॉ श्री प्रो पं सुश्री कु ডা ড মো মোঃ প্রফেসর د أ م ص دکتر د.ا ד"ר ד״ר פרופ' עו"ד
    திரு டாக்டர் డా శ్రీ ಡಾ ഡോ ડૉ ਡਾ
  `),
  counted: [],
  either: [],
  enders: [],
  starters: [],
  common: [],
}
