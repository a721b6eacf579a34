# An independent implementation of docs/reference/random-fill.md.
# Prints the golden values of FillTest.cpp.
import struct, math
M=0xffffffff
def philox(c,k):
    c=list(c);k=list(k)
    for _ in range(10):
        p0=0xD2511F53*c[0]; p1=0xCD9E8D57*c[2]
        c=[(p1>>32)^c[1]^k[0], p1&M, (p0>>32)^c[3]^k[1], p0&M]
        k=[(k[0]+0x9E3779B9)&M,(k[1]+0xBB67AE85)&M]
    return c
def draw(seed,stream,i):
    b=i//2
    w=philox([b&M,b>>32,stream&M,stream>>32],[seed&M,seed>>32])
    return (w[0]|w[1]<<32) if i%2==0 else (w[2]|w[3]<<32)
A=[3.3871328727963666080e0,1.3314166789178437745e+2,1.9715909503065514427e+3,1.3731693765509461125e+4,4.5921953931549871457e+4,6.7265770927008700853e+4,3.3430575583588128105e+4,2.5090809287301226727e+3]
B=[1.0,4.2313330701600911252e+1,6.8718700749205790830e+2,5.3941960214247511077e+3,2.1213794301586595867e+4,3.9307895800092710610e+4,2.8729085735721942674e+4,5.2264952788528545610e+3]
C=[1.42343711074968357734e0,4.63033784615654529590e0,5.76949722146069140550e0,3.64784832476320460504e0,1.27045825245236838258e0,2.41780725177450611770e-1,2.27238449892691845833e-2,7.74545014278341407640e-4]
D=[1.0,2.05319162663775882187e0,1.67638483018380384940e0,6.89767334985100004550e-1,1.48103976427480074590e-1,1.51986665636164571966e-2,5.47593808499534494600e-4,1.05075007164441684324e-9]
E=[6.65790464350110377720e0,5.46378491116411436990e0,1.78482653991729133580e0,2.96560571828504891230e-1,2.65321895265761230930e-2,1.24266094738807843860e-3,2.71155556874348757815e-5,2.01033439929228813265e-7]
F=[1.0,5.99832206555887937690e-1,1.36929880922735805310e-1,1.48753612908506148525e-2,7.86869131145613259100e-4,1.84631831751005468180e-5,1.42151175831644588870e-7,2.04426310338993978564e-15]
def poly(c,x):
    s=c[-1]
    for a in reversed(c[:-1]): s=s*x+a
    return s
def log(x):
    m,e=math.frexp(x); m*=2; e-=1
    if m>math.sqrt(2): m*=0.5; e+=1
    s=(m-1.0)/(m+1.0); t=s*s
    acc=1.0/23.0
    for k in range(21,0,-2): acc=acc*t+1.0/k
    return e*math.log(2)+2.0*s*acc
def quantile(p):
    q=p-0.5
    if abs(q)<=0.425:
        r=0.180625-q*q
        return q*poly(A,r)/poly(B,r)
    r=math.sqrt(-log(p if q<0 else 1.0-p))
    x=poly(C,r-1.6)/poly(D,r-1.6) if r<=5 else poly(E,r-5.0)/poly(F,r-5.0)
    return -x if q<0 else x
def uniform(u,lo,hi): return lo+(hi-lo)*((u>>11)*2.0**-53)
def normal(u,mean,dev): return mean+dev*quantile(((u>>12)*2+1)*2.0**-53)
def integer(u,lo,hi): return lo+((u*(hi-lo+1))>>64)
def boolean(u,p): return int((u>>11)<p*2.0**53)
if __name__=='__main__':
    from statistics import NormalDist
    worst=0
    for i in range(100000):
        p=((draw(5,5,i)>>12)*2+1)*2.0**-53
        a=quantile(p); b=NormalDist().inv_cdf(p); worst=max(worst,abs(a-b)/max(abs(b),1e-3))
    for e in range(2,53):
        p=2.0**-e; worst=max(worst,abs(quantile(p)-NormalDist().inv_cdf(p))/abs(NormalDist().inv_cdf(p)))
    print('worst relative difference to statistics.NormalDist', worst)
    for s,t in [(0,0),(42,7),(2**64-1,2**64-1)]:
        us=[draw(s,t,i) for i in range(6)]
        print(s,t,'draws',[hex(u) for u in us])
        print(' uniform -1 1',[uniform(u,-1,1).hex() for u in us])
        print(' normal 0 1',[normal(u,0,1).hex() for u in us])
        print(' normal 100 20 i8',[max(-128,min(127,round(normal(u,100,20)))) for u in us])
        print(' int -8 7',[integer(u,-8,7) for u in us])
        print(' int i64',[integer(u,-2**63,2**63-1) for u in us])
        print(' bool .25',[boolean(u,.25) for u in us])
    print([normal(draw(42,7,i),0,1).hex() for i in range(1022,1028)])
